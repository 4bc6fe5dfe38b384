import type { JSX } from "preact";
import { Link, useQueryState } from "../router/router.tsx";
import { Empty } from "./empty.tsx";

interface ChooseTenantProps {
  /** Those to choose from; empty if none is known. */
  readonly tenants: readonly string[];
  /** The parameter of the address that holds the tenant. */
  readonly parameter: string;
  /** Why one is needed. */
  readonly why: string;
}

/** Tenants to choose from, where a request needs one. */
export function ChooseTenant({ tenants, parameter, why }: ChooseTenantProps): JSX.Element {
  const { to } = useQueryState();
  return (
    <Empty
      title="Choose a tenant"
      why={why}
      next={
        tenants.length === 0 ? (
          "Enter one in the field Tenant."
        ) : (
          <span class="actions">
            {tenants.map((tenant) => (
              <Link key={tenant} to={to({ [parameter]: tenant })} class="choice">
                {tenant}
              </Link>
            ))}
          </span>
        )
      }
    />
  );
}
