import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { succeed } from "../tools/run.ts";
import { npmScope, repository } from "./names.ts";

const compileMsMax = 5 * 60_000;
const packMsMax = 60_000;

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** One package of the npm registry. */
interface NpmPackage {
  /** Its name below the scope. */
  readonly name: string;
  readonly description: string;
  /** Its page: a file of the checkout, or the text below the title. */
  readonly page: string;
  /** Members of its package.json beyond those of every package. */
  readonly members: (manifest: Manifest) => object;
  /** Writes its code into a folder. */
  readonly write: (places: Places, folder: string) => Promise<void>;
}

/** Where packages are made. */
export interface Places {
  /** The checkout, with its packages installed. */
  readonly root: string;
  /** The compiled product, as in the image. */
  readonly compiled: string;
  /** For the packages' files; emptied first. */
  readonly work: string;
  /** For the archives. */
  readonly target: string;
}

/** Modules of the kit that its main entry exports whole, and types of the signing that their functions take. */
const kitModules = [
  "callbacks",
  "endpoints",
  "metrics",
  "order",
  "receive",
  "resync",
  "seen-store",
  "stores/claim",
  "verify-delivery",
];
const signingTypes = {
  "crds/signing-key": "SigningScheme",
  "runtime/webhooks/signing/keys": "VerificationKey",
  "runtime/webhooks/signing/verification-result": "IncomingRequest, SignatureFault",
};

/** Further entries of the kit, each a module. */
const kitEntries: Readonly<Record<string, string>> = {
  node: "recipient",
  fastify: "fastify",
  web: "web",
  postgres: "stores/postgres-seen-store",
  redis: "stores/redis-seen-store",
  "nats-kv": "stores/nats-seen-store",
};

const kit: NpmPackage = {
  name: "recipient",
  description: "Verifies signed webhooks of Heliograph and handles each event once",
  page: "docs/recipients/README.md",
  members: () => ({
    engines: { node: ">=20.12" },
    sideEffects: false,
    exports: {
      ".": "./index.js",
      ...Object.fromEntries(
        Object.entries(kitEntries).map(([entry, name]) => [`./${entry}`, `./runtime/recipient/${name}.js`]),
      ),
    },
  }),
  // The modules and what they import, with their types.
  write: async ({ root }, folder) => {
    const tsc = join(root, "node_modules", ".bin", "tsc");
    const project = join(import.meta.dirname, "recipient.tsconfig.json");
    await succeed(tsc, ["--project", project, "--outDir", folder], { timeoutMs: compileMsMax });
    await writeFile(join(folder, "index.js"), kitModules.map(exportOf).join(""));
    await writeFile(join(folder, "index.d.ts"), kitModules.map(exportOf).join("") + signingTypesText());
  },
};

function exportOf(name: string): string {
  return `export * from "./runtime/recipient/${name}.js";\n`;
}

function signingTypesText(): string {
  const rows = Object.entries(signingTypes);
  return rows.map(([path, names]) => `export type { ${names} } from "./${path}.js";\n`).join("");
}

const command: NpmPackage = {
  name: "cli",
  description: "The command heliograph: validates resources and runs the product in one process",
  page: "`npx NAME validate FOLDER` checks resources, and `npx NAME run FOLDER` runs the product.",
  members: ({ dependencies }) => ({
    engines: { node: ">=24" },
    bin: {
      heliograph: "bin/heliograph.js",
      "kubectl-heliograph": "bin/kubectl-heliograph.js",
      "kubectl_complete-heliograph": "bin/kubectl-complete.js",
    },
    dependencies,
  }),
  write: async ({ root, compiled }, folder) => {
    for (const name of ["api", "bin", "cli", "crds", "demo", "dist", "kube", "limits", "network", "runtime"])
      await cp(join(compiled, name), join(folder, name), { recursive: true });
    // The operator runs from the image only.
    await rm(join(folder, "cli", "operator"), { recursive: true });
    await cp(join(root, "docs", "examples"), join(folder, "docs", "examples"), { recursive: true });
  },
};

/**
 * Writes the archives of the npm packages: the recipient kit and the command.
 *
 * @throws Error with the compiler's or npm's last lines
 */
export async function packNpmPackages(places: Places): Promise<void> {
  await rm(places.work, { recursive: true, force: true });
  await pack(kit, places);
  await pack(command, places);
}

/** Writes the archive of the recipient kit alone. @throws Error with the compiler's or npm's last lines */
export async function packKit(places: Omit<Places, "compiled">): Promise<void> {
  await rm(places.work, { recursive: true, force: true });
  await pack(kit, { ...places, compiled: "" });
}

async function pack(one: NpmPackage, places: Places): Promise<void> {
  const { root, work, target } = places;
  const folder = join(work, one.name);
  await mkdir(folder, { recursive: true });
  await one.write(places, folder);
  await writeHead(one, root, folder);
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
  const args = ["pack", folder, "--pack-destination", target, "--ignore-scripts", "--offline"];
  await succeed("npm", args, { timeoutMs: packMsMax });
}

/** Writes package.json and the page. */
async function writeHead(one: NpmPackage, root: string, folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest;
  const name = `${npmScope}/${one.name}`;
  const { version, license } = manifest;
  const head = { name, version, description: one.description, license, type: "module" };
  const source = { type: "git", url: `git+https://github.com/${repository}.git` };
  const text = JSON.stringify({ ...head, repository: source, ...one.members(manifest) }, undefined, 2);
  await writeFile(join(folder, "package.json"), `${text}\n`);
  const page = one.page.endsWith(".md")
    ? await readFile(join(root, one.page), "utf8")
    : `# ${name}\n\n${one.description}.\n\n${one.page.replaceAll("NAME", name)}\n`;
  await writeFile(join(folder, "README.md"), page);
}
