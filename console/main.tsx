import { type JSX, render } from "preact";
import { pages } from "./pages.ts";
import { placeOf } from "./router/place.ts";
import { App } from "./shell/app.tsx";
import { keepFocus } from "./shell/keep-focus.ts";
import { preloadPage } from "./shell/outlet.tsx";
import { startSession } from "./sign-in/start-session.ts";

preloadPage(pages, placeOf(location).path);
const root = document.querySelector<HTMLElement>("#console");
if (root !== null) {
  keepFocus(root);
  startSession().then(
    (start) => render(<App start={start} />, root),
    (error: unknown) => render(<FailedStart error={error} />, root),
  );
}

/** The page when not even the configuration of the console can be read. */
function FailedStart({ error }: { readonly error: unknown }): JSX.Element {
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
