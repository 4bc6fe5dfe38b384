import { render } from "preact";
import { App } from "./shell/app.tsx";
import { FailedStart } from "./shell/failed-start.tsx";
import { startSession } from "./sign-in/start-session.ts";

const root = document.querySelector("#console");
if (root !== null) {
  startSession().then(
    (start) => render(<App start={start} />, root),
    (error: unknown) => render(<FailedStart error={error} />, root),
  );
}
