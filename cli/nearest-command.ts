import { editDistance } from "../runtime/errors/edit-distance.ts";
import type { CommandTable } from "./command-line/command.ts";

/** Most edits between a word and the command that it is taken for. */
const editsMax = 2;

/** The commands of two words that begin with a word. */
export function commandsBelow(commands: CommandTable, first: string): readonly string[] {
  return Object.keys(commands).filter((name) => name.startsWith(`${first} `));
}

/** The command that the words of a command line probably mean; undefined when none is near. */
export function nearestCommand(commands: CommandTable, words: readonly string[]): string | undefined {
  const [first = ""] = words;
  const found = Object.keys(commands).map((name) => {
    const typed = name.includes(" ") ? words.slice(0, 2).join(" ") : first;
    return { name, edits: editDistance(typed, name), most: Math.min(editsMax, Math.floor(name.length / 2)) };
  });
  return found.filter(({ edits, most }) => edits <= most).sort((a, b) => a.edits - b.edits)[0]?.name;
}
