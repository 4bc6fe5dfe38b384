import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../command-line/command-error.ts";
import type { Place } from "../webhooks/follow-events.ts";

/** Reads the place that an earlier run kept; undefined without one. @throws CommandError `data` */
export async function readPlace(file: string): Promise<Place | undefined> {
  try {
    const { from, after_id: afterId } = JSON.parse(await readFile(file, "utf8")) as Readonly<Record<string, unknown>>;
    if (typeof from === "string" && typeof afterId === "string") return { from, afterId };
    throw new Error("it holds no place");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(file, error);
  }
}

/** Keeps a place, at once or not at all. @throws CommandError `data` */
export async function keepPlace(file: string, { from, afterId }: Place): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, `${JSON.stringify({ from, after_id: afterId })}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): CommandError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CommandError("data", `the file ${file} cannot be used: ${reason}; remove it to begin anew`, error);
}
