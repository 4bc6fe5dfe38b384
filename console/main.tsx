import { render } from "preact";

const root = document.querySelector("#console");
if (root !== null) render(<p>Heliograph console</p>, root);
