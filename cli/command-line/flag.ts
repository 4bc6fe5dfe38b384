// Flags and commands: parsing, help, completion and exit codes. The commands are in the other folders of `cli/`.

/** One flag. Each can also be given as an environment variable; the flag wins. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** One letter, for `-o` beside `--output`. */
  readonly short?: string;
  /** Placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** True for a flag that may be given several times, or once with values separated by commas. */
  readonly multiple?: boolean;
  readonly required?: boolean;
  /** Name of the environment variable. @default that of {@link variableOf} */
  readonly variable?: string;
  /** True for a value that only the environment can give, because other users of a machine see command lines. */
  readonly isSecret?: boolean;
  /** Text of the default; absent when there is none. */
  readonly standard?: string;
}

/** `admin-port` → `HELIOGRAPH_ADMIN_PORT`, unless a standard names the variable. */
export function variableOf({ name, variable }: Flag): string {
  return variable ?? `HELIOGRAPH_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** `--shards COUNT`, `--all-namespaces`, `-o, --output FORMAT`; empty for a secret. */
export function usageOf({ name, value, short, isSecret = false }: Flag): string {
  if (isSecret) return "";
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} ${value}`;
}
