import { render } from "preact";
import { pages } from "./pages.ts";
import { placeOf } from "./router/place.ts";
import { App } from "./shell/app.tsx";
import { FailedStart } from "./shell/failed-start.tsx";
import { preloadPage } from "./shell/outlet.tsx";
import { startSession } from "./sign-in/start-session.ts";

preloadPage(pages, placeOf(location).path);
const root = document.querySelector("#console");
if (root !== null) {
  startSession().then(
    (start) => render(<App start={start} />, root),
    (error: unknown) => render(<FailedStart error={error} />, root),
  );
}
