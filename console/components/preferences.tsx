import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { formatTime, type TimeZone } from "./format.ts";

/** `system`: what the browser prefers. */
export type ThemeChoice = "system" | "light" | "dark";

/** What a person chose for this browser. */
interface Choices {
  readonly theme: ThemeChoice;
  readonly zone: TimeZone;
}

interface Preferences extends Choices {
  /** The theme that is drawn. */
  readonly shown: "light" | "dark";
  readonly choose: (change: Partial<Choices>) => void;
}

const defaults: Choices = { theme: "system", zone: "utc" };
const PreferencesContext = createContext<Preferences>({ ...defaults, shown: "light", choose: () => undefined });
const storageKey = "heliograph.console.preferences";

/** Theme and time zone. A component that draws on a canvas redraws when `shown` or `zone` changes. */
export function usePreferences(): Preferences {
  return useContext(PreferencesContext);
}

/** Formats ISO 8601 times in the time zone that the person chose. */
export function useFormatTime(): (at: string) => string {
  const { zone } = usePreferences();
  return useMemo(() => (at: string) => formatTime(at, zone), [zone]);
}

/** Reads stored choices. Anything else that is stored there is ignored. */
export function parseChoices(text: string | null): Choices {
  const stored = parsed(text);
  const { theme, zone } = stored;
  return {
    theme: theme === "light" || theme === "dark" ? theme : "system",
    zone: zone === "local" ? "local" : "utc",
  };
}

function parsed(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Keeps the choices in `localStorage`, so that all tabs have them. They say nothing about the person. */
export function PreferencesProvider({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [choices, setChoices] = useState(() => parseChoices(read()));
  const prefersDark = useMediaQuery("(prefers-color-scheme: dark)");
  const shown = choices.theme === "system" ? (prefersDark ? "dark" : "light") : choices.theme;
  useLayoutEffect(() => {
    document.documentElement.dataset["theme"] = choices.theme;
  }, [choices.theme]);
  useEffect(() => {
    const follow = ({ key, newValue }: StorageEvent): void => {
      if (key === storageKey) setChoices(parseChoices(newValue));
    };
    window.addEventListener("storage", follow);
    return () => window.removeEventListener("storage", follow);
  }, []);
  const preferences = useMemo(() => {
    const choose = (change: Partial<Choices>): void => {
      const next = { ...choices, ...change };
      setChoices(next);
      write(JSON.stringify(next));
    };
    return { ...choices, shown, choose } as const;
  }, [choices, shown]);
  return <PreferencesContext.Provider value={preferences}>{children}</PreferencesContext.Provider>;
}

/** A browser can deny storage to a page. */
function read(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

function write(text: string): void {
  try {
    localStorage.setItem(storageKey, text);
  } catch {
    // The choice is in force until the page is closed.
  }
}

function useMediaQuery(text: string): boolean {
  const query = useMemo(() => matchMedia(text), [text]);
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const follow = (): void => setMatches(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, [query]);
  return matches;
}

/** Chooses the theme and the time zone. */
export function PreferenceSwitches(): JSX.Element {
  const { theme, zone, choose } = usePreferences();
  return (
    <>
      <select
        class="small"
        aria-label="Time zone"
        value={zone}
        onChange={(event) => choose({ zone: event.currentTarget.value as TimeZone })}
      >
        <option value="utc">UTC</option>
        <option value="local">Local time</option>
      </select>
      <select
        class="small"
        aria-label="Theme"
        value={theme}
        onChange={(event) => choose({ theme: event.currentTarget.value as ThemeChoice })}
      >
        <option value="system">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </>
  );
}
