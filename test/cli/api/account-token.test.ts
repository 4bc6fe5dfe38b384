import { expect, test } from "vitest";
import { keptToken } from "../../../cli/api/cluster-connection.ts";

const lifeMs = 600_000;

function issuer() {
  let nowMs = 0;
  let issued = 0;
  let isDown = false;
  const token = keptToken(
    () => {
      if (isDown) return Promise.reject(new Error("down"));
      issued += 1;
      return Promise.resolve({ token: `token-${issued}`, expiresAtMs: nowMs + lifeMs });
    },
    () => nowMs,
  );
  return { token, at: (ms: number) => (nowMs = ms), setDown: (down: boolean) => (isDown = down) };
}

test("a token is kept until a minute before it expires", async () => {
  const { token, at } = issuer();
  expect(await token()).toBe("token-1");
  at(lifeMs - 60_001);
  expect(await token()).toBe("token-1");
  at(lifeMs - 60_000);
  expect(await token()).toBe("token-2");
});

test("a request that failed is made again by the next call", async () => {
  const { token, setDown } = issuer();
  setDown(true);
  await expect(token()).rejects.toThrow("down");
  setDown(false);
  expect(await token()).toBe("token-1");
});
