/** Records that a tenant sent an event id of another one. Stored among the attempts of the tenant that was refused. */
export interface TakenNote {
  readonly kind: "id_taken";
  /** The tenant that has the id. */
  readonly holder: string;
  /** Time of the first refusal by JetStream's clock, ISO 8601 UTC. */
  readonly at: string;
}
