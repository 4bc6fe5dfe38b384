import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/** Pictures that the documentation shows, by the name of their row in `pages.ts`. */
export const keptPictures: Readonly<Record<string, "light" | "dark">> = { event: "dark", explorer: "light" };

const folder = fileURLToPath(new URL("../../docs/console", import.meta.url));
const jpeg = { type: "jpeg", quality: 70 } as const;

/** What a browser shows of a page, as the documentation keeps it. */
export function pictureOf(page: Page): Promise<Buffer> {
  return page.screenshot(jpeg);
}

/**
 * How far a picture is from the kept one, by the lightness of 40 times 25 fields: 0 is the same, 1 is black against
 * white. Times and figures differ in every run, the layout does not.
 */
export async function distanceFromKept(blank: Page, name: string, shown: Buffer): Promise<number> {
  const kept = await readFile(join(folder, `${name}-${keptPictures[name] ?? "light"}.jpg`));
  const sources = [kept, shown].map((bytes) => `data:image/jpeg;base64,${bytes.toString("base64")}`);
  return blank.evaluate(async (both) => {
    const [columns, rows] = [40, 25];
    const fieldsOf = async (source: string): Promise<readonly number[]> => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [columns, rows];
      const drawing = canvas.getContext("2d");
      if (drawing === null) throw new Error("the browser draws no canvas");
      drawing.imageSmoothingQuality = "high";
      drawing.drawImage(image, 0, 0, columns, rows);
      const { data } = drawing.getImageData(0, 0, columns, rows);
      return Array.from({ length: columns * rows }, (_, index) => {
        const [red = 0, green = 0, blue = 0] = data.subarray(4 * index, 4 * index + 3);
        return (red + green + blue) / (3 * 255);
      });
    };
    const [one = [], other = []] = await Promise.all(both.map(fieldsOf));
    return one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 1)), 0) / one.length;
  }, sources);
}
