import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { version } from "../../runtime/version.ts";
import { hasUnreleased, notesOf } from "./changelog.ts";
import { releasedImage, repository } from "./names.ts";

interface Chart {
  readonly version: string;
  readonly appVersion: string;
}

interface Values {
  readonly image: { readonly repository: string; readonly tag: string };
}

/** Where a release is made: variables of GitHub's runner. Source: GitHub documentation, "Variables reference". */
export interface Runner {
  readonly GITHUB_REPOSITORY?: string | undefined;
  readonly GITHUB_REF_TYPE?: string | undefined;
  readonly GITHUB_REF_NAME?: string | undefined;
}

/** What keeps a checkout from being released, as sentences; empty when nothing does. */
export function releaseProblems(root: string, runner: Runner): readonly string[] {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const chart = parse(read("charts/heliograph/Chart.yaml")) as Chart;
  const { image } = parse(read("charts/heliograph/values.yaml")) as Values;
  const installed = `${image.repository}:${image.tag || chart.appVersion}`;
  return [
    ...differs("The chart installs", installed, releasedImage),
    ...differs("The version of Chart.yaml is", chart.version, version),
    ...notesProblem(read("CHANGELOG.md")),
    ...(runner.GITHUB_REF_TYPE === "tag" ? unreleasedProblem(read("CHANGELOG.md")) : []),
    ...runnerProblems(runner),
  ];
}

function runnerProblems(runner: Runner): readonly string[] {
  const { GITHUB_REPOSITORY: own = repository, GITHUB_REF_TYPE: type, GITHUB_REF_NAME: name = "" } = runner;
  return [
    ...differs("The repository is", own, repository),
    ...(type === "tag" ? differs("The tag is", name, `v${version}`) : []),
  ];
}

function differs(what: string, found: string, wanted: string): readonly string[] {
  return found === wanted ? [] : [`${what} ${found}; the release needs ${wanted}.`];
}

function unreleasedProblem(changelog: string): readonly string[] {
  return hasUnreleased(changelog)
    ? [`CHANGELOG.md has changes below "Unreleased": move them below the version that this tag releases.`]
    : [];
}

function notesProblem(changelog: string): readonly string[] {
  try {
    notesOf(changelog, version);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
