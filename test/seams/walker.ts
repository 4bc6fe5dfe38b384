import { waitFor } from "../support/wait.ts";
import type { Catalogs } from "./catalogs.ts";
import { countBy } from "./check.ts";
import type { Undeclared } from "./contracts.ts";
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

/** What steps are applied to. */
interface Walked {
  readonly installation: Installation;
  readonly partners: Partners;
  readonly catalogs: Catalogs;
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
  readonly #catalogs: Catalogs;
  readonly #random: () => number;
  #state: WalkState = startState();
  #demand = 0;
  #restart: Promise<void> = Promise.resolve();

  constructor({ installation, partners, catalogs }: Walked, random: () => number) {
    this.#installation = installation;
    this.#partners = partners;
    this.#catalogs = catalogs;
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
    if ("catalog" in step) return this.#applyToCatalog(step);
    if ("pod" in step) return this.#afterRestart(() => this.#installation.restart(step));
    if ("undeclared" in step) return this.#setUndeclared(step.undeclared);
    if ("hasRival" in step) return this.#contest(step.hasRival);
    const own = this.#partners.all().filter(({ label }) => label.startsWith(`${step.namespace}/`));
    await this.#untilSettled(own);
    this.#partners.policyBegan(step, withdrawn, this.#state);
    await this.#installation.writePolicy(this.#state);
  }

  /** One server at a time is away. */
  async #afterRestart(restart: () => Promise<void>): Promise<void> {
    await this.#restart;
    this.#restart = restart();
    // Awaited before the next server is ended; a failure is not lost until then.
    this.#restart.catch(() => undefined);
  }

  #setUndeclared(undeclared: Undeclared): Promise<void> {
    return this.#afterRestart(() =>
      this.#installation.setUndeclared(undeclared, (pod) => this.#catalogs.undeclaredBegan(pod, undeclared)),
    );
  }

  /** What is published is what the next edit is compared with. */
  async #applyToCatalog(step: Extract<Step, { readonly catalog: unknown }>): Promise<void> {
    const timeline = this.#catalogs.timelines[step.catalog.index];
    const isPolicy = step.verb === "withhold_type" || step.verb === "permit_type";
    if ((step.verb === "break_catalog" || isPolicy) && timeline !== undefined) await this.#untilSettled([timeline]);
    if (isPolicy) {
      this.#catalogs.policyBegan(step.catalog);
      return this.#installation.writePolicy(this.#state);
    }
    await this.#catalogs.applyStep(step);
  }

  /** The older catalog is in force before another one claims its type. */
  async #contest(hasRival: boolean): Promise<void> {
    await this.#untilSettled(this.#catalogs.timelines.slice(0, 1));
    await this.#catalogs.contest(hasRival);
  }

  /** The operator reads the policy now and then: one that changes twice in between could be seen or not. */
  async #untilSettled(
    timelines: readonly { readonly isSettled: boolean; readonly lastChange: string }[],
  ): Promise<void> {
    const unsettled = (): readonly string[] =>
      timelines.filter(({ isSettled }) => !isSettled).map(({ lastChange }) => lastChange);
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
