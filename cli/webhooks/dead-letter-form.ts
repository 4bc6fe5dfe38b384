import type { Flag } from "../command-line/flag.ts";
import type { Column } from "../api/output.ts";
import { partnerFlag } from "./event-filter.ts";
import { stateTone } from "./event-forms.ts";

/** An item of `GET /webhooks/dead-letters`. */
export interface DeadLetter {
  readonly event_id: string;
  readonly tenant: string;
  readonly type: string;
  readonly partner: string;
  readonly state: string;
  readonly reason: string;
  readonly attempts: number;
  readonly ended_at: string;
  readonly replay_id: string | null;
}

export const deadLetterColumns: readonly Column<DeadLetter>[] = [
  { title: "EVENT", cell: ({ event_id: id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "TENANT", cell: ({ tenant }) => tenant },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => stateTone(state) },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "ATTEMPTS", cell: ({ attempts }) => attempts },
  { title: "ENDED", cell: ({ ended_at: at }) => at },
  { title: "REPLAY", cell: ({ replay_id: id }) => id, isWide: true },
];

/** An item of `GET /webhooks/dead-letters/counts`. */
export interface DeadLetterCount {
  readonly partner: string;
  readonly reason: string;
  readonly count: number;
  readonly oldest_at: string;
  readonly newest_at: string;
}

export const deadLetterCountColumns: readonly Column<DeadLetterCount>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "COUNT", cell: ({ count }) => count },
  { title: "OLDEST", cell: ({ oldest_at: at }) => at },
  { title: "NEWEST", cell: ({ newest_at: at }) => at },
];

export const anyPartnerFlag: Flag = { ...partnerFlag, help: "Only dead letters of this partner." };
export const ownPartnerFlag: Flag = { ...partnerFlag, help: "Partner of the dead letters.", required: true };
export const reasonFlag: Flag = {
  name: "reason",
  value: "REASON",
  help: "Only dead letters with this reason, for example status_404.",
};
