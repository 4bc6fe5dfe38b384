import { writeFile } from "node:fs/promises";
import { vectorsFile, vectorsText } from "./vectors.ts";

// Writes the published vectors from the product's signing code.
await writeFile(vectorsFile, vectorsText());
