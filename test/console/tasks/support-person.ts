// The ten tasks of a support person, one file per part of the console, and what the person does in a browser.
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { ConsoleInstallation } from "../console-installation.ts";
import type { ConsoleVisitor } from "../console-visitor.ts";

/** A question of a support person, and the way to its answer. */
export interface SupportTask {
  /** The question, as the person asks it: `Which partner is unhealthy?` */
  readonly question: string;
  /** Brings the installation into the state that is asked about; not part of the task. @default nothing */
  readonly prepare?: (visitor: ConsoleVisitor) => Promise<void>;
  /** Starts at Home, signed in. Ends when the answer is visible. */
  readonly run: (person: SupportPerson, installation: ConsoleInstallation) => Promise<void>;
}

/** Somebody at Home of the console. Every click goes through it, so that clicks are counted. */
export interface SupportPerson {
  /** For locators; use the methods below for input. */
  readonly page: Page;
  /** Clicks a link, a button, a row or a checkbox. */
  click(target: Locator): Promise<void>;
  /** Chooses an option of a select by its label: two clicks. */
  choose(target: Locator, label: string): Promise<void>;
  /** Fills a field that has the focus already, or gets it by this one click. */
  fill(target: Locator, text: string): Promise<void>;
  /** Presses a key such as `/`, `Enter` or `Control+k`; no click. */
  press(key: string): Promise<void>;
  /** Waits until a text is visible within the page or a part of it. */
  sees(text: string | RegExp, within?: Locator): Promise<void>;
}

/** What a task took. */
export interface TaskFigures {
  readonly clicks: number;
  readonly ms: number;
}

/** Does a task and measures it, from Home to the answer. @throws Error if the answer does not become visible */
export async function measureTask({ prepare, run }: SupportTask, visitor: ConsoleVisitor): Promise<TaskFigures> {
  await prepare?.(visitor);
  const tab = await visitor.open({ widthPx: 1_440 });
  await visitor.visit(tab, { name: "home", path: "/", heading: "Home", sees: [] });
  const person = personAt(tab.page);
  const startMs = performance.now();
  await run(person, visitor.installation);
  const ms = performance.now() - startMs;
  expect(tab.faults).toEqual([]);
  await tab.close();
  return { clicks: person.clicks(), ms };
}

function personAt(page: Page): SupportPerson & { readonly clicks: () => number } {
  let clicks = 0;
  return {
    page,
    clicks: () => clicks,
    click: async (target) => {
      clicks += 1;
      await target.click();
    },
    choose: async (target, label) => {
      clicks += 2;
      await target.selectOption({ label });
    },
    fill: async (target, text) => {
      if (!(await target.evaluate((element) => element === document.activeElement))) clicks += 1;
      await target.fill(text);
    },
    press: (key) => page.keyboard.press(key),
    sees: async (text, within) => {
      const place = within ?? page.locator("main");
      await place.getByText(text).filter({ visible: true }).first().waitFor();
    },
  };
}
