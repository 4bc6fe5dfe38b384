import { waitFor } from "../support/wait.ts";
import { countBy } from "./check.ts";
import type { Installation } from "./installation.ts";
import type { Partners } from "./partners.ts";
import {
  afterStep,
  demandOf,
  mendingSteps,
  nextStep,
  startState,
  stepText,
  type Step,
  type WalkState,
} from "./walk.ts";

/** One applied step. Times are Unix milliseconds. */
export interface LoggedStep {
  readonly number: number;
  readonly atMs: number;
  readonly text: string;
  readonly verb: Step["verb"];
}

/** How long a change may take to be in force while servers come and go. */
const changeMsMax = 30_000;

/** Draws steps and applies them. One server at a time is away; edits continue meanwhile. */
export class Walker {
  readonly log: LoggedStep[] = [];
  /** What took too long, in sentences. */
  readonly problems: string[] = [];
  readonly #installation: Installation;
  readonly #partners: Partners;
  readonly #random: () => number;
  #state: WalkState = startState();
  #demand = 0;
  #restart: Promise<void> = Promise.resolve();

  constructor(installation: Installation, partners: Partners, random: () => number) {
    this.#installation = installation;
    this.#partners = partners;
    this.#random = random;
  }

  async step(): Promise<void> {
    await this.#applyStep(nextStep(this.#state, this.#random));
    this.#demand += demandOf(this.#state);
  }

  /** Deliveries that the resources ask for, if one event is sent in each step. */
  get demand(): number {
    return this.#demand;
  }

  /** Mends everything; resolves when every server is back. */
  async mend(): Promise<void> {
    await this.#restart;
    for (const step of mendingSteps(this.#state)) await this.#applyStep(step);
  }

  /** Steps so far, by verb. */
  counts(): Readonly<Record<string, number>> {
    return countBy(this.log, ({ verb }) => verb);
  }

  async #applyStep(step: Step): Promise<void> {
    const { withdrawn } = this.#state;
    this.#state = afterStep(this.#state, step);
    this.log.push({ number: this.log.length + 1, atMs: Date.now(), text: stepText(step), verb: step.verb });
    if ("next" in step) return this.#partners.applyStep(step, this.#state);
    if ("pod" in step) {
      await this.#restart;
      this.#restart = this.#installation.restart(step);
      // Awaited before the next server is ended; a failure is not lost until then.
      this.#restart.catch(() => undefined);
      return;
    }
    await this.#untilSettled(step.namespace);
    this.#partners.policyBegan(step, withdrawn, this.#state);
    await this.#installation.writePolicy(this.#state.withdrawn);
  }

  /** The operator reads the policy now and then: a policy that changes twice in between could be seen or not. */
  async #untilSettled(namespace: string): Promise<void> {
    const unsettled = (): readonly string[] => {
      const own = this.#partners.all().filter(({ label }) => label.startsWith(`${namespace}/`));
      return own.filter(({ isSettled }) => !isSettled).map(({ lastChange }) => lastChange);
    };
    const isSettled = await waitFor(() => unsettled().length === 0, { timeoutMs: changeMsMax, what: "" }).catch(
      () => false,
    );
    if (!isSettled) {
      this.problems.push(
        `before step ${this.log.length}: not in force after ${changeMsMax} ms: ${unsettled().join("; ")}`,
      );
    }
  }
}
