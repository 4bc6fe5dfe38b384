import { describe, expect, test } from "vitest";
import { addressOf, changedQuery, matchPath, pathTo, placeOf } from "../../console/router/place.ts";

describe("placeOf", () => {
  test.each([
    ["/console", "/"],
    ["/console/", "/"],
    ["/console/events", "/events"],
    ["/console/partners/default/acme/", "/partners/default/acme"],
    ["/elsewhere", "/"],
  ])("reads %s as %s", (pathname, path) => {
    expect(placeOf({ pathname, search: "" }).path).toBe(path);
  });

  test("keeps the parameters", () => {
    expect(placeOf({ pathname: "/console/events", search: "?state=dead" }).query.get("state")).toBe("dead");
  });
});

describe("matchPath", () => {
  test.each([
    ["/", "/", {}],
    ["/events", "/events", {}],
    ["/events/:id", "/events/a%2Fb%3Fc", { id: "a/b?c" }],
    ["/partners/:namespace/:name", "/partners/default/acme", { namespace: "default", name: "acme" }],
    ["/events/:id", "/events", undefined],
    ["/events/:id", "/events/", undefined],
    ["/events/:id", "/events/a/b", undefined],
    ["/events/:id", "/events/%", undefined],
    ["/events", "/partners", undefined],
  ])("fits %s to %s", (pattern, path, parameters) => {
    expect(matchPath(pattern, path)).toEqual(parameters);
  });

  test("takes back what pathTo wrote, whatever a producer names an event", () => {
    for (const id of ["a/b", "../../v1", "?x=1#y", "<img src=x>", "%2F", "ü 1"]) {
      expect(matchPath("/events/:id", pathTo("events", id))).toEqual({ id });
      expect(addressOf(pathTo("events", id))).toMatch(/^\/console\/events\/[^/?#<>]+$/u);
    }
  });
});

describe("changedQuery", () => {
  const query = new URLSearchParams("state=dead&cursor=7&filter=a&filter=b");

  test.each([
    [{ cursor: null }, "?state=dead&filter=a&filter=b"],
    [{ state: "delivered", cursor: null }, "?filter=a&filter=b&state=delivered"],
    [{ filter: ["c", ""], cursor: "" }, "?state=dead&filter=c"],
    [{ state: null, cursor: null, filter: [] }, ""],
  ])("changes by %j", (change, text) => {
    expect(changedQuery(query, change)).toBe(text);
    expect(query.get("cursor")).toBe("7");
  });
});
