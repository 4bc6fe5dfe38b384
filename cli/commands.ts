// The programs that a user starts, and the table of commands. The commands are in the folders.
import type { CommandTable } from "./command-line/command.ts";

/**
 * Every command, in the order of the help. A module loads when its command runs or is described.
 * `docs/reference/cli.md` lists the same commands; a test compares them.
 */
export const commands: CommandTable = {
  up: async () => (await import("./serving/up.ts")).upCommand,
  run: async () => (await import("./serving/run.ts")).runCommand,
  runtime: async () => (await import("./serving/runtime.ts")).runtimeCommand,
  validate: async () => (await import("./configuration/validate.ts")).validateCommand,
  compile: async () => (await import("./configuration/validate.ts")).compileCommand,
  diff: async () => (await import("./configuration/diff.ts")).diffCommand,
  rules: async () => (await import("./configuration/rules.ts")).rulesCommand,
  "dev-token": async () => (await import("./serving/dev-token.ts")).devTokenCommand,
  open: async () => (await import("./serving/open.ts")).openCommand,
  login: async () => (await import("./api/login.ts")).loginCommand,
  logout: async () => (await import("./api/login.ts")).logoutCommand,
  resources: async () => (await import("./configuration/resources.ts")).resourcesCommand,
  "nats migrate": async () => (await import("./serving/nats-migrate.ts")).natsMigrateCommand,
  "debug bundle": async () => (await import("./serving/debug-bundle.ts")).debugBundleCommand,
  send: async () => (await import("./webhooks/send.ts")).sendCommand,
  "events list": async () => (await import("./webhooks/events.ts")).listEventsCommand,
  "events get": async () => (await import("./webhooks/events.ts")).getEventCommand,
  "events tail": async () => (await import("./webhooks/events.ts")).tailEventsCommand,
  attempts: async () => (await import("./webhooks/events.ts")).attemptsCommand,
  "dlq list": async () => (await import("./webhooks/dead-letters.ts")).listDeadLettersCommand,
  "dlq counts": async () => (await import("./webhooks/dead-letters.ts")).countDeadLettersCommand,
  "dlq redrive": async () => (await import("./webhooks/dead-letters.ts")).redriveCommand,
  "dlq ack": async () => (await import("./webhooks/dead-letters.ts")).acknowledgeCommand,
  replay: async () => (await import("./webhooks/replays.ts")).replayCommand,
  "replays list": async () => (await import("./webhooks/replays.ts")).listReplaysCommand,
  "replays get": async () => (await import("./webhooks/replays.ts")).getReplayCommand,
  "replays cancel": async () => (await import("./webhooks/replays.ts")).cancelReplayCommand,
  partners: async () => (await import("./webhooks/partners.ts")).partnersCommand,
  "partners ping": async () => (await import("./webhooks/partners.ts")).pingCommand,
  trigger: async () => (await import("./partner/trigger.ts")).triggerCommand,
  listen: async () => (await import("./partner/listen.ts")).listenCommand,
  sign: async () => (await import("./partner/sign.ts")).signCommand,
  verify: async () => (await import("./partner/verify.ts")).verifyCommand,
  query: async () => (await import("./metrics/query.ts")).queryCommand,
  quota: async () => (await import("./metrics/quota.ts")).quotaCommand,
  usage: async () => (await import("./metrics/usage.ts")).usageCommand,
  slo: async () => (await import("./metrics/slo.ts")).sloCommand,
  gate: async () => (await import("./metrics/gate.ts")).gateCommand,
  completion: async () => (await import("./command-line/completion.ts")).completionCommand,
  version: async () => (await import("./serving/version.ts")).versionCommand,
};
