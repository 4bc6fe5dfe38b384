import { readFile, realpath, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";

/** Where the passwords are, and where the server reads them. */
interface ServerUsersPlace {
  /** Folder of the mounted Secret: a password in each of `runtime`, `backup` and `system`. */
  readonly authFolder: string;
  /** File that the server's configuration includes. */
  readonly usersFile: string;
}

/** Writes the server's users from the files of a Secret. */
export type ServerUsers = ReturnType<typeof createServerUsers>;

/** Entries of the Secret. Those of the previous user exist during a rotation only. */
const entries = ["runtime-user", "runtime", "runtime-previous-user", "runtime-previous", "backup", "system"] as const;
export type AuthEntries = Readonly<Partial<Record<(typeof entries)[number], string>>>;

const userDefault = "runtime";
/** Name of the previous user while there is none. */
const nobody = "runtime-previous";
/** A bcrypt hash that no password has: its characters are no result of the function. */
const noPassword = `$2a$04$${".".repeat(53)}`;
const bcryptHash = /^\$2[abxy]\$\d\d\$/u;
const ownerOnly = 0o600;
/** A Secret that changes during each of so many reads is read again at the next check. */
const readsMax = 20;

/** Creates the writer of the users. Every start of the server needs the file. */
export function createServerUsers({ authFolder, usersFile }: ServerUsersPlace, log: Logger) {
  let isFaulty = false;
  const write = async (): Promise<void> => {
    const text = usersText(await readEntries(authFolder));
    if (text === (await readFile(usersFile, "utf8").catch(() => undefined))) return;
    // The server never sees a part of the file.
    const aside = `${usersFile}.new`;
    await writeFile(aside, text, { mode: ownerOnly });
    await rename(aside, usersFile);
    log.info({ usersFile }, "users written");
  };
  return {
    /** Writes the file if it is new. @throws Error with one sentence when the Secret cannot be used */
    write,
    /** Does the same for a Secret that may have changed. Never rejects: the server keeps its users. */
    check: async () => {
      try {
        await write();
        isFaulty = false;
      } catch (error) {
        isFaulty = true;
        log.warn({ reason: error instanceof Error ? error.message : String(error) }, "users not changed");
      }
    },
    /** True while the Secret cannot be used. */
    isFaulty: () => isFaulty,
  };
}

/** Reads the entries of one version: the kubelet replaces all files at once, which may be while they are read. */
async function readEntries(folder: string): Promise<AuthEntries> {
  for (let reads = 1; ; reads += 1) {
    const version = await versionOf(folder);
    const found = await entriesOf(folder);
    if (reads === readsMax || (await versionOf(folder)) === version) return found;
  }
}

/** The folder that the kubelet's link names; undefined for other folders. */
async function versionOf(folder: string): Promise<string | undefined> {
  return realpath(join(folder, "..data")).catch(() => undefined);
}

async function entriesOf(folder: string): Promise<AuthEntries> {
  const read = async (name: string) => {
    const text = await readFile(join(folder, name), "utf8").catch(absent);
    return text === undefined ? [] : [[name, text.replace(/\r?\n$/u, "")] as const];
  };
  return Object.fromEntries((await Promise.all(entries.map(read))).flat());
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

/**
 * The variables of the chart's `nats.conf`, quoted: NATS would read a bare `no` or `1e3` as another value.
 * @throws Error with one sentence that contains no password
 */
export function usersText(auth: AuthEntries): string {
  const user = auth["runtime-user"] ?? userDefault;
  const previous = auth["runtime-previous"];
  const previousUser = previous === undefined ? nobody : (auth["runtime-previous-user"] ?? userDefault);
  const names = [user, previousUser, "backup", "system"];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new Error(
      `two users have the name ${twice}: give the new password another runtime-user, and set runtime-previous-user`,
    );
  }
  const variables = {
    NATS_RUNTIME_USER: required("runtime-user", user),
    NATS_RUNTIME_PASSWORD: clientPassword(auth.runtime),
    NATS_PREVIOUS_USER: required("runtime-previous-user", previousUser),
    NATS_PREVIOUS_PASSWORD: previous === undefined ? noPassword : required("runtime-previous", previous),
    NATS_BACKUP_PASSWORD: required("backup", auth.backup),
    NATS_SYSTEM_PASSWORD: required("system", auth.system),
  };
  const lines = Object.entries(variables).map(([name, text]) => `${name}: ${quoted(text)}\n`);
  return `# Written from the Secret; changes are lost.\n${lines.join("")}`;
}

function required(entry: string, text: string | undefined): string {
  if (text === undefined || text === "") throw new Error(`the Secret of the users has no ${entry}`);
  return text;
}

/** The runtime has the same entry, and a client needs the password itself. */
function clientPassword(text: string | undefined): string {
  const password = required("runtime", text);
  if (!bcryptHash.test(password)) return password;
  throw new Error("runtime is a bcrypt hash in the Secret of the users, and the runtime needs the password itself");
}

/** A text in the syntax of nats-server's configuration. Its escapes are those of its lexer, not JSON's. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll(/[\\"]/gu, String.raw`\$&`)
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u001F\u007F]/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `"${escaped}"`;
}
