// Usage: node screenshot.mjs PAGE.html OUT.png VISIT
// Renders a local page without network and prints {"text": ..., "console_errors": [...], "scroll_width": ...}.
// VISIT is JSON: {"width": pixels, "scheme": "light" or "dark", "fragment": "#...", "steps": [{"click": selector} or
// {"press": key}]}.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflate, setupLambdaEnvironment } from "@sparticuz/chromium";
import { chromium } from "playwright-core";

const ARCHIVES = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "..", "bin");
const UNPACKED = join(import.meta.dirname, "node_modules", ".cache", "chromium");
// The package's own file names folders of another machine.
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`;

// Staged and renamed, so that two test runs at once never see half a browser.
async function unpack() {
  if (existsSync(UNPACKED)) return;
  await mkdir(dirname(UNPACKED), { recursive: true });
  const staging = await mkdtemp(`${UNPACKED}-`);
  const temporary = process.env.TMPDIR;
  process.env.TMPDIR = staging;
  const names = ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"];
  await Promise.all(names.map((name) => inflate(join(ARCHIVES, name))));
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  await writeFile(join(staging, "fonts", "fonts.conf"), FONTS);
  await rename(staging, UNPACKED).catch((error) => {
    if (!existsSync(UNPACKED)) throw error;
  });
}

async function act(page, step) {
  if (step.click) await page.click(step.click);
  else await page.keyboard.press(step.press);
}

async function render(page, out, visit) {
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(pathToFileURL(process.argv[2]).href + visit.fragment);
  for (const step of visit.steps) await act(page, step);
  await page.screenshot({ path: out, fullPage: true });
  const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth);
  return { text: await page.innerText("body"), console_errors: errors, scroll_width: scrollWidth };
}

await unpack();
// The package's own libraries (nss among them) spare an installation as root.
setupLambdaEnvironment(join(UNPACKED, "al2023", "lib"));
process.env.FONTCONFIG_PATH = join(UNPACKED, "fonts");
const browser = await chromium.launch({
  executablePath: join(UNPACKED, "chromium"),
  // The sandbox needs rights that containers and root do not have; the page is our own file.
  args: ["--no-sandbox"],
});
try {
  const visit = JSON.parse(process.argv[4]);
  const viewport = { width: visit.width, height: 800 };
  const page = await browser.newPage({ offline: true, viewport, colorScheme: visit.scheme });
  console.log(JSON.stringify(await render(page, process.argv[3], visit)));
} finally {
  await browser.close();
}
