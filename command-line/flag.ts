// Command lines of both programs: flags, help, signals and exit. The flags of a program are in its own `cli/`.

/** One flag. Each can also be given as an environment variable; the flag wins. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** Placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** True for a flag that may be given several times, or once with values separated by commas. */
  readonly multiple?: boolean;
  readonly required?: boolean;
  /** Text of the default; absent when there is none. */
  readonly standard?: string;
}

/** `admin-port` → `HELIOGRAPH_ADMIN_PORT` */
export function variableOf({ name }: Flag): string {
  return `HELIOGRAPH_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** `--shards COUNT`, `--all-namespaces` */
export function usageOf({ name, value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
