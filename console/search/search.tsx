// Finds pages, events and their types, partners, metrics, objectives and replays. Their pages show what they contain.
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Badge } from "../components/badge.tsx";
import { useRouter } from "../router/router.tsx";
import { itemOfPage, type SearchItem, withRecent } from "./search-items.ts";
import { useSearchItems } from "./use-search-items.ts";
import type { PageAddress } from "../router/place.ts";

const textLengthMax = 256;

/** The search of every page: a button, `/` or Ctrl-K opens it. */
export function Search(): JSX.Element {
  const { place } = useRouter();
  const recent = useRecent(place);
  const [isOpen, setOpen] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  useEffect(() => {
    window.addEventListener("popstate", close);
    return () => window.removeEventListener("popstate", close);
  }, [close]);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      if (!isShortcut && (event.key !== "/" || hasModifier(event) || isTyping(event.target))) return;
      event.preventDefault();
      setOpen(true);
    };
    window.addEventListener("keydown", open);
    return () => window.removeEventListener("keydown", open);
  }, []);
  return (
    <>
      <button type="button" class="small search-button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Search <kbd>/</kbd>
      </button>
      {isOpen ? <SearchDialog recent={recent} onClose={close} /> : null}
    </>
  );
}

function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName))
  );
}

interface DialogProps {
  readonly recent: readonly SearchItem[];
  readonly onClose: () => void;
}

function SearchDialog({ recent, onClose }: DialogProps): JSX.Element {
  const router = useRouter();
  const dialog = useRef<HTMLDialogElement>(null);
  // Closed before the page changes: a shortcut right afterwards opens the search again. The dialog returns the focus,
  // which stays there if the page is the same.
  const go = useCallback(
    (to: string): void => {
      dialog.current?.close();
      onClose();
      router.go(to);
    },
    [onClose, router.go],
  );
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  // Enter during a look-up of an id opens what it finds.
  const [isWaiting, setWaiting] = useState(false);
  const search = useSearchItems(text.trim(), true);
  const items = text.trim() === "" ? recent : search.items;
  const selectedAt = Math.min(at, items.length - 1);
  const selected = items[selectedAt];
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (isWaiting && !search.isSearching) {
      setWaiting(false);
      if (selected !== undefined) go(selected.to);
    }
  }, [isWaiting, search.isSearching, selected, go]);
  const open = (event: SubmitEvent): void => {
    event.preventDefault();
    if (search.isSearching && at === 0) setWaiting(true);
    else if (selected !== undefined) go(selected.to);
  };
  // The event comes late: another dialog may be open by then.
  const end = ({ currentTarget }: Event): void => void ((currentTarget as Node).isConnected && onClose());
  return (
    <dialog ref={dialog} class="search" aria-label="Search" onClose={end} onClick={closeOnBackdrop}>
      <form onSubmit={open}>
        <SearchField
          text={text}
          onText={(typed) => {
            setText(typed);
            setAt(0);
          }}
          selectedAt={selectedAt}
          count={items.length}
          onSelect={setAt}
        />
      </form>
      {text.trim() === "" && recent.length > 0 ? <p class="hint">Recently opened</p> : null}
      <ul id="search-results" class="plain" role="listbox" aria-label="Results">
        {items.map((item, index) => (
          <Result
            key={`${item.kind} ${item.to}`}
            item={item}
            index={index}
            isSelected={item === selected}
            onOpen={go}
          />
        ))}
      </ul>
      <p class="hint" role="status">
        {statusText(text.trim(), items.length, search.isSearching)}
      </p>
    </dialog>
  );
}

interface FieldProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Index of the selected result; negative if nothing is selected. */
  readonly selectedAt: number;
  readonly count: number;
  readonly onSelect: (index: number) => void;
}

/** Arrow keys select a result, round the ends. */
function SearchField({ text, onText, selectedAt, count, onSelect }: FieldProps): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onSelect((selectedAt + step + count) % Math.max(count, 1));
  };
  return (
    <input
      type="text"
      role="combobox"
      aria-label="Search"
      aria-expanded={count > 0}
      aria-controls="search-results"
      aria-activedescendant={selectedAt < 0 ? undefined : `search-result-${selectedAt}`}
      autocomplete="off"
      spellcheck={false}
      placeholder="Event id, event type, partner, metric, objective or replay"
      maxLength={textLengthMax}
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
      onKeyDown={move}
    />
  );
}

function statusText(text: string, count: number, isSearching: boolean): string {
  if (text === "") return "Type an event id, or part of a name.";
  if (isSearching) return "Searching…";
  return count === 0 ? "Nothing found. Event ids must be complete." : "";
}

function closeOnBackdrop(event: MouseEvent): void {
  if (event.target === event.currentTarget) (event.currentTarget as HTMLDialogElement).close();
}

interface ResultProps {
  readonly item: SearchItem;
  readonly index: number;
  readonly isSelected: boolean;
  readonly onOpen: (to: string) => void;
}

function Result({ item, index, isSelected, onOpen }: ResultProps): JSX.Element {
  return (
    <li
      id={`search-result-${index}`}
      role="option"
      aria-selected={isSelected}
      class={isSelected ? "search-result selected" : "search-result"}
      onClick={() => onOpen(item.to)}
    >
      <span class="search-kind">{item.kind}</span> <span class="search-name">{item.name}</span>
      {item.detail === undefined ? null : <Badge state={item.detail} />}
    </li>
  );
}

/** The items that this tab opened last, the newest first. They are gone with the session. */
function useRecent({ path, query }: PageAddress): readonly SearchItem[] {
  const [recent, setRecent] = useState<readonly SearchItem[]>([]);
  useEffect(() => {
    const item = itemOfPage(path, query);
    if (item !== undefined) setRecent((before) => withRecent(before, item));
  }, [path, query]);
  return recent;
}
