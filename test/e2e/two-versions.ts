import { join } from "node:path";
import { buildProductImage } from "../image/build-image.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { definitions, type Installation, olderValues, setJson } from "./installation.ts";
import { fateOf, startLoad } from "./load.ts";
import { partner, signingSecret } from "./manifests.ts";
import { unpackPreviousRelease } from "./previous-release.ts";
import type { User } from "./user.ts";

/** The image of the release before this one. */
export const olderTag = "localhost/heliograph:previous";

/** Where the versions change. */
interface Setting {
  readonly installation: Installation;
  readonly user: User;
  readonly release: string;
  readonly service: string;
  /** Bytes of a signing key that no partner has and that the recipient knows. */
  readonly secret: string;
}

/** What a change of the installed version did to the events that were sent meanwhile. */
interface ChangeReport {
  /** Accepted events that did not arrive. */
  readonly lost: number;
  /** Accepted events that the paused partner did not get once it was active again. */
  readonly lostWhilePaused: number;
  /** Events that arrived more than once, if these are more than one in a thousand. */
  readonly doubled: number;
  /** Images of the product in pods that run afterwards. */
  readonly images: readonly string[];
}

const load = { eventsPerSecond: 20, queriesPerSecond: 5, seconds: 45 };
const doubledShareMax = 0.001;
const heldName = "held";
const heldMsMax = 60_000;

/**
 * Installs the release before this one, upgrades it and rolls it back, each under load. Answers the reports of both
 * changes.
 */
export async function upgradedAndRolledBack(
  setting: Setting,
  upgrade: () => Promise<unknown>,
): Promise<readonly ChangeReport[]> {
  const { installation, user, release, secret } = setting;
  const folder = await temporaryFolder("previous");
  try {
    await installOlder(setting, folder);
    await user.programmed();
    await addPausedPartner(user, secret);
    const up = await changedUnderLoad(setting, 1, upgrade);
    const rollback = ["rollback", release, "1", "--namespace", user.namespace, "--wait", "--timeout=4m"];
    const back = await changedUnderLoad(setting, 2, () => installation.helm(rollback));
    // A rollback brings the older definitions back, and the next installation takes those that it finds.
    await installation.kubectl(["apply", "--server-side", "--force-conflicts", "--filename", definitions]);
    return [up, back];
  } finally {
    await folder.remove();
  }
}

/** Builds the image of the release before this one and installs its chart with it. */
async function installOlder({ installation, user, release }: Setting, folder: TemporaryFolder): Promise<void> {
  const { root, chart } = await unpackPreviousRelease(join(folder.path, "release"));
  const archive = join(folder.path, "image.tar");
  await buildProductImage(
    { root, tag: olderTag, context: join(folder.path, "context"), archive },
    (request) => installation.cluster.buildImage(request),
    (line) => console.log(line),
  );
  await installation.cluster.loadImage(archive);
  const { namespace } = user;
  const [repository, tag] = olderTag.split(":");
  const discovered = await installation.kubectl(["get", "--raw", "/.well-known/openid-configuration"]);
  const { issuer } = JSON.parse(discovered) as { readonly issuer: string };
  const values = { ...olderValues(namespace, issuer), image: { repository, tag, pullPolicy: "Never" } };
  const where = ["--namespace", namespace, "--wait", "--timeout=3m"];
  await installation.helm(["install", release, chart, ...where, ...setJson(values)]);
}

/** Makes a partner that is paused and gets every event too. */
async function addPausedPartner(user: User, secret: string): Promise<void> {
  const key = { id: heldName, secret };
  await user.kubectl(["apply", "--filename=-"], signingSecret(key));
  const { spec, ...rest } = partner(user.namespace, [key.id]);
  const paused = { ...rest, metadata: { name: heldName }, spec: { ...spec, state: "Paused" } };
  await user.kubectl(["apply", "--filename=-"], paused);
  await user.programmed([`webhookpartner/${heldName}`]);
}

/**
 * Changes the installed version while events and queries come in. The paused partner becomes active afterwards, so that
 * programs of one version deliver what those of the other have stored, and is then paused again.
 */
async function changedUnderLoad(
  { user, service }: Setting,
  round: number,
  change: () => Promise<unknown>,
): Promise<ChangeReport> {
  const prefix = `version${round}`;
  const running = await startLoad(user, service, { prefix, ...load });
  const startMs = performance.now();
  await change();
  const tookMs = Math.round(performance.now() - startMs);
  await user.programmed();
  const images = await productImages(user);
  const { accepted, failures } = await running.stop();
  const { arrived, doubled } = await fateOf(user, prefix, accepted);
  const lostWhilePaused = await lostOfPaused(user, round, accepted);
  console.log(`version ${round}: ${JSON.stringify({ tookMs, accepted, arrived, doubled, lostWhilePaused, failures })}`);
  if (accepted === 0) throw new Error(`no event of ${prefix} was accepted`);
  return {
    lost: Math.max(0, accepted - arrived),
    lostWhilePaused,
    doubled: doubled > accepted * doubledShareMax ? doubled : 0,
    images,
  };
}

/** Makes the paused partner active until it has as many events as were accepted. */
async function lostOfPaused(user: User, round: number, accepted: number): Promise<number> {
  // Each round has a path of its own, by which its deliveries are counted.
  const path = `/webhooks/held${round}/payout`;
  const arrivedAt = async (): Promise<number> => (await user.received()).byPath[path] ?? 0;
  await setPaused(user, "Active", path);
  await waitFor(async () => (await arrivedAt()) >= accepted, {
    timeoutMs: heldMsMax,
    pollMs: 200,
    what: `${accepted} held events`,
  }).catch(() => undefined);
  await setPaused(user, "Paused", path);
  return Math.max(0, accepted - (await arrivedAt()));
}

async function setPaused(user: User, state: "Active" | "Paused", path: string): Promise<void> {
  const url = `http://partner.${user.namespace}.svc.cluster.local:8080${path}`;
  const patch = JSON.stringify({ spec: { state, endpoint: { url } } });
  await user.kubectl(["patch", `webhookpartner/${heldName}`, "--type=merge", "--patch", patch]);
  await user.programmed([`webhookpartner/${heldName}`]);
}

interface Pods {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly deletionTimestamp?: string };
    readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> };
  }>;
}

/** Images of operator and runtime in pods that are not ending, each once. */
async function productImages(user: User): Promise<readonly string[]> {
  const selector = "--selector=app.kubernetes.io/component in (operator,runtime)";
  const { items } = JSON.parse(await user.kubectl(["get", "pods", selector, "--output=json"])) as Pods;
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return [...new Set(staying.flatMap(({ spec }) => spec.containers.map(({ image }) => image)))];
}
