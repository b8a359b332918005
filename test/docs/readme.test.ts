import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { program } from '../harness/program.ts';
import { type Block, blocks, pages, read, root } from './markdown.ts';

const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** Indented blocks of commands and `console` blocks; drawings and other languages are not commands. */
const isCommands = ({ info, text }: Block) => info === 'console' || (info === '' && !/[─│┐└┬]/.test(text));

const commands = pages().flatMap((page) =>
  blocks(read(page))
    .filter(isCommands)
    .flatMap(({ text }) =>
      text
        .trim()
        .split('\n')
        .map((command) => ({ page, command })),
    ),
);

/** What can be run without a site, in a moment, and leaves nothing behind; the rest must at least exist. */
const ends = ({ command }: { command: string }) => /^npm run siteward -- check |^npm run generate/.test(command);
const serves = ({ command }: { command: string }) => command.startsWith('npm run siteward -- sandbox');

describe('commands of README and docs', () => {
  test('there are some of each kind', () => {
    expect(commands.filter(ends).length).toBeGreaterThan(0);
    expect(commands.filter(serves).length).toBeGreaterThan(0);
  });

  test.each(commands.filter(ends))('"$command" in $page succeeds', async ({ command }) => {
    expect(await run(command)).toMatchObject({ code: 0 });
  });

  test.each(commands.filter(serves))('"$command" in $page says where it answers, and ends', async ({ command }) => {
    const home = mkdtempSync(join(tmpdir(), 'siteward-docs-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const args = command.split(' -- ')[1]?.split(' ') ?? [];
    // Without npm in between: what is started here is ended here.
    const child = spawn(process.execPath, [program, ...args], {
      cwd: root,
      env: { ...process.env, HOME: home },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.on('data', (bytes) => {
      out += bytes;
    });
    await vi.waitUntil(() => out.includes('control path'), { timeout: 20_000 });
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test.each(commands)('"$command" in $page names what exists', ({ command }) => {
    for (const text of command.split('&&')) {
      // Variables that are set for this one command.
      const part = text.trim().replace(/^(?:[A-Z_]+=\S+ )+/, '');
      const script = /^npm (?:run )?(?:-s )?(\w+)/.exec(part)?.[1] ?? '';
      if (part.startsWith('npm') && script !== 'ci') expect(Object.keys(scripts)).toContain(script);
      else
        expect(part).toMatch(
          /^(npm ci|siteward (doctor|reload|backup|restore|upgrade-check|arm|disarm|bypass|unbypass|clear-memory|test|status|events|check|outbox|schedule|user|verification|audit|activity|replay|inputs|camera|device|nvr|media|audio|log|support-bundle|access|cloud|setup|claim-code|reset-access)|apt-get install|dpkg|\/usr\/lib\/siteward\/bin\/use-backup|chown|curl|journalctl|systemctl|mosquitto_(?:sub|pub|rr)) ?/,
        );
      const file = /(?:^| )(config\/\S+)/.exec(part)?.[1];
      if (file !== undefined) expect(existsSync(join(root, file)), file).toBe(true);
    }
  });

  test('the generated files are in step, as "npm run generate -- --check" says', async () => {
    expect(await run('npm run generate -- --check')).toMatchObject({ code: 0 });
  });
});

describe('links of README and docs', () => {
  const links = pages().flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({ page, link: match[1] ?? '' })),
  );

  test.each(links)('$page: $link leads to a file that exists', ({ page, link }) => {
    expect(link).not.toMatch(/^https?:/);
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? join(root, page) : join(root, dirname(page), path);
    expect(existsSync(file)).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(file)).toContain(anchor);
  });

  test('every page of docs is reachable from README', () => {
    const seen = new Set(['README.md']);
    for (const page of seen) {
      const next = links.filter((link) => link.page === page && link.link.split('#')[0]?.endsWith('.md') === true);
      for (const { link } of next) seen.add(join(dirname(page), link.split('#')[0] ?? ''));
    }
    // README links the folder of decisions as a whole.
    expect(pages().filter((page) => !page.startsWith('docs/adr/') && !seen.has(page))).toEqual([]);
  });
});

test('paths of the repository that pages name in code exist', () => {
  const named = pages().flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|tools|config|docs)\/[\w./-]+)`/g)].map((match) => match[1] ?? ''),
  );
  expect([...new Set(named)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)];
  return headings.map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function run(command: string): Promise<{ code: number; out: string }> {
  const [program = '', ...args] = command.split(' ');
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out: out + err });
    });
  });
}
