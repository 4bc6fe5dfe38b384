/** Indexes of the servers and pods of the installation. */
export const serverCount = 3;
export const podCount = 3;

type ServerVerb = "kill_server" | "wipe_server" | "fill_disk" | "stop_server" | "starve_server";
type PodVerb = "kill_pod" | "stop_pod" | "starve_pod";

/**
 * Everything that can go wrong in a run, and how long it lasts, in milliseconds. What is killed is started again. What
 * is stopped (SIGSTOP) or starved (it runs for a tenth of the time) continues. Clocks step back.
 */
export type Fault =
  | { readonly verb: ServerVerb | PodVerb; readonly target: number; readonly ms: number }
  | { readonly verb: "step_clock"; readonly target: number; readonly ms: number; readonly stepMs: number }
  | { readonly verb: "break_partner"; readonly partner: string; readonly how: Misbehaviour; readonly ms: number }
  | { readonly verb: "edit_partner" | "rotate_key"; readonly partner: string; readonly ms: number };
export type FaultVerb = Fault["verb"];

/** `fails`: 503. `resets`: cuts connections. `hangs`: never responds. `slow`: responds after a second. */
export const misbehaviours = ["fails", "resets", "hangs", "slow"] as const;
export type Misbehaviour = (typeof misbehaviours)[number];

/** What this machine can do, and the partners that take faults. */
export interface FaultOptions {
  /** Partners that may be broken, edited and rotated. */
  readonly partners: readonly string[];
  readonly canFillDisks: boolean;
  readonly canStepClocks: boolean;
  /** The only faults that are drawn. @default all */
  readonly verbs?: readonly string[];
}

const hourMs = 3_600_000;

/** What a fault is drawn with. */
interface Draw {
  readonly between: (fromMs: number, toMs: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly partner: string;
  readonly server: number;
  readonly pod: number;
}

interface Sort {
  /** How often it is drawn, compared with the others. */
  readonly weight: number;
  readonly draw: (draw: Draw) => Fault;
}

const onServer =
  (verb: ServerVerb, fromMs: number, toMs: number): Sort["draw"] =>
  ({ between, server }) => ({ verb, target: server, ms: between(fromMs, toMs) });
const onPod =
  (verb: PodVerb, fromMs: number, toMs: number): Sort["draw"] =>
  ({ between, pod }) => ({ verb, target: pod, ms: between(fromMs, toMs) });
const onPartner =
  (verb: "edit_partner" | "rotate_key"): Sort["draw"] =>
  ({ partner }) => ({ verb, partner, ms: 0 });

const sorts: Readonly<Record<FaultVerb, Sort>> = {
  kill_server: { weight: 4, draw: onServer("kill_server", 500, 8_000) },
  stop_server: { weight: 3, draw: onServer("stop_server", 5_000, 20_000) },
  wipe_server: { weight: 2, draw: onServer("wipe_server", 500, 8_000) },
  fill_disk: { weight: 2, draw: onServer("fill_disk", 5_000, 20_000) },
  starve_server: { weight: 1, draw: onServer("starve_server", 5_000, 15_000) },
  kill_pod: { weight: 5, draw: onPod("kill_pod", 500, 8_000) },
  stop_pod: { weight: 5, draw: onPod("stop_pod", 5_000, 60_000) },
  starve_pod: { weight: 2, draw: onPod("starve_pod", 5_000, 15_000) },
  step_clock: {
    weight: 3,
    draw: ({ between, pick, pod }) => {
      return { verb: "step_clock", target: pod, ms: between(5_000, 15_000), stepMs: pick([-hourMs, hourMs]) };
    },
  },
  break_partner: {
    weight: 4,
    draw: ({ between, pick, partner }) => {
      return { verb: "break_partner", partner, how: pick(misbehaviours), ms: between(3_000, 12_000) };
    },
  },
  edit_partner: { weight: 2, draw: onPartner("edit_partner") },
  rotate_key: { weight: 2, draw: onPartner("rotate_key") },
};

/** The next fault. `random` returns numbers in [0, 1). */
export function drawFault(options: FaultOptions, random: () => number): Fault {
  const possible = Object.entries(sorts).filter(([verb]) => isPossible(verb, options));
  let at = random() * possible.reduce((sum, [, { weight }]) => sum + weight, 0);
  const [, { draw } = sorts.kill_pod] = possible.find(([, { weight }]) => (at -= weight) < 0) ?? [];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  return draw({
    between: (fromMs, toMs) => Math.round(fromMs + random() * (toMs - fromMs)),
    pick,
    partner: pick(options.partners),
    server: Math.floor(random() * serverCount),
    pod: Math.floor(random() * podCount),
  });
}

function isPossible(verb: string, { canFillDisks, canStepClocks, verbs }: FaultOptions): boolean {
  if (verbs?.includes(verb) === false) return false;
  if (verb === "fill_disk") return canFillDisks;
  return verb !== "step_clock" || canStepClocks;
}

/** One line that describes a fault. */
export function faultText(fault: Fault): string {
  const at = "partner" in fault ? fault.partner : String(fault.target);
  const how = "how" in fault ? ` ${fault.how}` : "stepMs" in fault ? ` by ${fault.stepMs} ms` : "";
  return `${fault.verb} ${at}${how}${fault.ms === 0 ? "" : ` for ${fault.ms} ms`}`;
}

/** Whether a fault takes a nats-server away, which may lead streams. */
export function losesServer({ verb }: Pick<Fault, "verb">): boolean {
  return ["kill_server", "wipe_server", "stop_server", "fill_disk"].includes(verb);
}

/** Whether a fault takes a pod away. */
export function losesPod({ verb }: Pick<Fault, "verb">): boolean {
  return verb === "kill_pod" || verb === "stop_pod";
}
