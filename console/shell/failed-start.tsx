import type { JSX } from "preact";

/** The page when not even the configuration of the console can be read. */
export function FailedStart({ error }: { readonly error: unknown }): JSX.Element {
  return (
    <main id="main" class="sign-in">
      <h1>The console cannot start</h1>
      <p role="alert">{error instanceof Error ? error.message : String(error)}</p>
      <button type="button" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}
