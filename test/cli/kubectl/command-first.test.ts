import { expect, test } from "vitest";
import { commandFirst } from "../../../cli/command-first.ts";

test.each([
  {
    what: "a namespace before the command",
    given: "-n shop events list --limit 3",
    is: "events list --limit 3 -n shop",
  },
  { what: "a long flag with =", given: "--context=one events get a", is: "events get a --context=one" },
  { what: "several flags", given: "--kubeconfig f -n shop query m", is: "query m --kubeconfig f -n shop" },
  { what: "a short flag with its value in one word", given: "-nshop partners", is: "partners -nshop" },
  { what: "words after --", given: "-n shop send a -- -b", is: "send a -n shop -- -b" },
  { what: "flags behind the command", given: "events list -n shop", is: "events list -n shop" },
  { what: "other flags first", given: "--help", is: "--help" },
  { what: "nothing", given: "", is: "" },
])("the order of words with $what", ({ given, is }) => {
  const words = (text: string): readonly string[] => text.split(" ").filter((word) => word !== "");
  expect(commandFirst(words(given))).toEqual(words(is));
});
