import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/** Pages whose pictures the documentation has, by the name of their row in `pages.ts`, with their themes. */
export const keptPages: Readonly<Record<string, "light" | "dark">> = {
  home: "light",
  events: "light",
  event: "dark",
  explorer: "light",
  slos: "dark",
  slo: "light",
};

/** What a browser shows of each page. */
const keptSizes = {
  wide: { width: 1_440, height: 900 },
  narrow: { width: 390, height: 844 },
} as const;

/** Names of the pictures: `home-wide`. */
export const keptPictures: readonly string[] = Object.keys(keptPages).flatMap((name) =>
  Object.keys(keptSizes).map((size) => `${name}-${size}`),
);

const folder = fileURLToPath(new URL("../../docs/console", import.meta.url));
const quality = 0.6;

/** Shows a page in each size. @returns pictures by their names, as data URLs of PNG */
export async function picturesOf(page: Page, name: string): Promise<ReadonlyMap<string, string>> {
  const shown = new Map<string, string>();
  for (const [size, viewport] of Object.entries(keptSizes)) {
    await page.setViewportSize(viewport);
    // A chart follows its place with the next frames.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    shown.set(`${name}-${size}`, `data:image/png;base64,${(await page.screenshot()).toString("base64")}`);
  }
  return shown;
}

/** A picture as the documentation keeps it: WebP. @param source a data URL */
export async function encodePicture(blank: Page, source: string): Promise<Buffer> {
  const encoded = await blank.evaluate(
    async ([url, share]) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
      canvas.getContext("2d")?.drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", share);
    },
    [source, quality] as const,
  );
  return Buffer.from(encoded.slice(encoded.indexOf(",") + 1), "base64");
}

/** A kept picture as a data URL. */
export async function keptPicture(name: string): Promise<string> {
  return `data:image/webp;base64,${(await readFile(join(folder, `${name}.webp`))).toString("base64")}`;
}

/**
 * How far two pictures are from each other, by the lightness of fields of 32 pixels: 0 is the same, 1 is black against
 * white. Times and figures differ in every run, the layout does not.
 */
export async function pictureDistance(blank: Page, one: string, other: string): Promise<number> {
  return blank.evaluate(
    async (sources) => {
      const fieldPx = 32;
      const fieldsOf = async (source: string): Promise<readonly number[]> => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = document.createElement("canvas");
        const [columns, rows] = [image.naturalWidth, image.naturalHeight].map((px) => Math.round(px / fieldPx));
        [canvas.width, canvas.height] = [columns ?? 1, rows ?? 1];
        const drawing = canvas.getContext("2d");
        if (drawing === null) throw new Error("the browser draws no canvas");
        drawing.imageSmoothingQuality = "high";
        drawing.drawImage(image, 0, 0, canvas.width, canvas.height);
        const { data } = drawing.getImageData(0, 0, canvas.width, canvas.height);
        return Array.from({ length: canvas.width * canvas.height }, (_, index) => {
          const [red = 0, green = 0, blue = 0] = data.subarray(4 * index, 4 * index + 3);
          return (red + green + blue) / (3 * 255);
        });
      };
      const [first = [], second = []] = await Promise.all(sources.map(fieldsOf));
      return first.reduce((sum, value, index) => sum + Math.abs(value - (second[index] ?? 1)), 0) / first.length;
    },
    [one, other],
  );
}
