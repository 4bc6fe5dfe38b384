/** A change of a text: what stands from `start` to before `end` becomes `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A reason to refuse a text, with the offset of its first character. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly start: number;
  /** What would remove the fault. @default none is known */
  readonly edit: Edit | undefined;

  constructor(message: string, start: number, edit?: Edit) {
    super(message);
    this.start = start;
    this.edit = edit;
  }
}

/** The text after an edit. */
export function applyEdit(text: string, { start, end, text: inserted }: Edit): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

const quotedMax = 40;

/** A part of a text for a message. */
export function shorten(text: string): string {
  return text.length > quotedMax ? `${text.slice(0, quotedMax)}…` : text;
}
