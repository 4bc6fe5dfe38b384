/** What a Dockerfile says about an image, beyond the files that it copies. */
export interface ImageConfig {
  readonly labels: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
  readonly ports: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
}

/** An image as a Dockerfile describes it. */
export interface ImageRecipe {
  readonly base: string;
  readonly config: ImageConfig;
}

const assignment = /([\w.-]+)=(?:"([^"]*)"|(\S+))/gu;

/**
 * Reads a Dockerfile of one layer: it takes a base, copies everything and sets the image's configuration. No command
 * runs in it, so the same layer fits every platform.
 *
 * @param args values of its ARG lines, before their defaults
 * @throws Error for an instruction that one layer for every platform cannot have
 */
export function recipeOf(dockerfile: string, args: Readonly<Record<string, string>>): ImageRecipe {
  const values = new Map<string, string>();
  const told = new Map<string, string>();
  for (const line of instructionsOf(dockerfile)) {
    const [, keyword = "", rest = ""] = /^(\S+)\s+(.*)$/su.exec(line) ?? [];
    if (keyword === "ARG") {
      const [name = "", standard = ""] = rest.split(/=(.*)/su);
      values.set(name, args[name] ?? standard);
    } else {
      const text = rest.replaceAll(/\$\{(\w+)\}/gu, (_all, name: string) => values.get(name) ?? "");
      told.set(keyword, checked(keyword, text, told));
    }
  }
  return { base: told.get("FROM") ?? "", config: configOf((keyword) => told.get(keyword) ?? "") };
}

const known = new Set(["FROM", "LABEL", "COPY", "ENV", "WORKDIR", "USER", "EXPOSE", "ENTRYPOINT", "CMD"]);

function checked(keyword: string, text: string, told: ReadonlyMap<string, string>): string {
  if (!known.has(keyword))
    throw new Error(`The Dockerfile has ${keyword}: one layer for every platform has no such line.`);
  if (told.has(keyword)) throw new Error(`The Dockerfile has ${keyword} twice: write it once.`);
  if (keyword === "COPY" && text !== ". /")
    throw new Error(`The Dockerfile copies ${text}: only COPY . / is known here.`);
  return text;
}

function configOf(told: (keyword: string) => string): ImageConfig {
  return {
    labels: assignments(told("LABEL")),
    env: assignments(told("ENV")),
    workdir: told("WORKDIR"),
    user: told("USER"),
    ports: told("EXPOSE").split(" "),
    entrypoint: JSON.parse(told("ENTRYPOINT")) as readonly string[],
    cmd: JSON.parse(told("CMD")) as readonly string[],
  };
}

function assignments(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(assignment)].map(([, name = "", quoted, bare = ""]) => [name, quoted ?? bare]),
  );
}

/** Lines without comments, those that end in a backslash joined with the next. */
function instructionsOf(dockerfile: string): readonly string[] {
  const lines = dockerfile.split("\n").filter((line) => !line.startsWith("#"));
  const joined = lines.join("\n").replaceAll(/\\\n\s*/gu, "");
  return joined.split("\n").filter((line) => line.trim() !== "");
}
