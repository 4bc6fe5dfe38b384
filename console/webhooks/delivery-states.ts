// What several webhook pages share: states, links, and the way of a request from its dry run to its start.
import type { DeliveryStates } from "../../api/histories.ts";

/** States of a delivery, in the order of filters. */
export const deliveryStates: DeliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"];
