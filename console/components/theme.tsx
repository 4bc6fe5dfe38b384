import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";

/** `system`: what the browser prefers. */
export type ThemeChoice = "system" | "light" | "dark";

interface Theme {
  readonly choice: ThemeChoice;
  /** What is drawn. */
  readonly shown: "light" | "dark";
  readonly choose: (choice: ThemeChoice) => void;
}

const ThemeContext = createContext<Theme>({ choice: "system", shown: "light", choose: () => undefined });

/** The theme; a part that draws by itself draws anew when `shown` changes. */
export function useTheme(): Theme {
  return useContext(ThemeContext);
}

/** Keeps the choice of the reader in memory: nothing is stored in the browser. */
export function ThemeProvider({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [choice, choose] = useState<ThemeChoice>("system");
  const prefersDark = useMediaQuery("(prefers-color-scheme: dark)");
  const shown = choice === "system" ? (prefersDark ? "dark" : "light") : choice;
  useLayoutEffect(() => {
    document.documentElement.dataset["theme"] = choice;
  }, [choice]);
  const theme = useMemo(() => ({ choice, shown, choose }) as const, [choice, shown]);
  return <ThemeContext.Provider value={theme}>{children}</ThemeContext.Provider>;
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

/** Chooses the theme. */
export function ThemeSwitch(): JSX.Element {
  const { choice, choose } = useTheme();
  return (
    <select
      class="small"
      aria-label="Theme"
      value={choice}
      onChange={(event) => choose(event.currentTarget.value as ThemeChoice)}
    >
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
