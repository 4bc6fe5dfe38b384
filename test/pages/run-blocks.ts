import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import { commandBlocks } from "./command-blocks.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const blockMsMax = 60_000;
const npxProgram = "npx heliograph";
/** Where pages say that the API is. */
const documentedUrl = "http://127.0.0.1:8080";

/** What a block of a page printed. */
export interface BlockResult {
  readonly first: string;
  readonly text: string;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Typist {
  readonly page: string;
  /** Replaces the documented address of the API. */
  readonly url: string;
  /** Replaces `npx heliograph`, which takes most of a second for each command. @default itself */
  readonly program?: string | undefined;
  /** Added to the environment of every block. */
  readonly environment: Readonly<Record<string, string>>;
  /** Leaves out blocks that the test shows otherwise. @default every block is typed */
  readonly isTyped?: ((first: string, text: string) => boolean) | undefined;
}

/**
 * Types the blocks of a page one after another, as a reader does in one shell: variables that a block exports stay for
 * the next ones. Only the address of the API is another one.
 */
export async function typeBlocks(typist: Typist): Promise<readonly BlockResult[]> {
  const folder = await temporaryFolder("page");
  try {
    return await typeIn(join(folder.path, "exported"), typist);
  } finally {
    await folder.remove();
  }
}

/** @param exported file that keeps what the blocks exported */
async function typeIn(exported: string, typist: Typist): Promise<readonly BlockResult[]> {
  const { page, url, program = npxProgram, environment, isTyped } = typist;
  const results: BlockResult[] = [];
  for (const { first, text } of commandBlocks(page).filter((block) => isTyped?.(block.first, block.text) ?? true)) {
    const here = text.replaceAll(documentedUrl, url).replaceAll(npxProgram, program);
    const script = `set -eu -o pipefail\n[ ! -e ${exported} ] || . ${exported}\n${here}\nexport -p > ${exported}\n`;
    const env = { ...environment, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
    const { code, stdout, stderr } = await run("bash", ["-c", script], { cwd: root, env, timeoutMs: blockMsMax });
    results.push({ first, text, code, stdout, stderr });
  }
  return results;
}
