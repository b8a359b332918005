import { createHash } from 'node:crypto';
import type { BundledPackage } from './bundled.ts';

/** `/usr/share/doc/siteward/copyright`, machine-readable (DEP-5): siteward, every package that is bundled, Node with all it brings. */
export function copyrightFile(packages: readonly BundledPackage[], { node }: { readonly node: string }): string {
  const texts = new Map<string, string>();
  /** One name for each text: two packages under MIT differ in who they name. */
  const named = (licence: string, text: string): string => {
    const words = text.trim() === '' ? `The package names ${licence} and brings no text of its own.` : text;
    const spdx = licence
      .replaceAll(/[()]/g, '')
      .replaceAll(/\s+(OR|AND)\s+/g, (_, word: string) => ` ${word.toLowerCase()} `);
    const name = /\s/.test(spdx) ? spdx.replaceAll(/\s+/g, '-') : spdx;
    const tag = createHash('sha256').update(words).digest('hex').slice(0, 8);
    const full = `${name}-${tag}`;
    texts.set(full, words);
    return full;
  };
  const stanza = (fields: Readonly<Record<string, string>>): string =>
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n');
  texts.set('Apache-2.0', commonApache);
  const files = [
    stanza({ Files: '*', Copyright: 'the authors of siteward', License: 'Apache-2.0' }),
    ...packages.map(({ name, version, licence, licenceText, copyright }) =>
      stanza({
        Files: `node_modules/${name}/*`,
        Copyright: copyright.join('\n '),
        License: licence === 'Apache-2.0' ? licence : named(licence, licenceText),
        Comment: `${name} ${version}, bundled into /usr/lib/siteward/app.`,
      }),
    ),
    stanza({
      Files: 'usr/lib/siteward/bin/node',
      Copyright: 'the contributors of Node.js, and those that the text names for each part',
      License: named('Node', node),
      Comment: 'Node.js with V8, OpenSSL, ICU and the other parts it is built of, each with its licence.',
    }),
  ];
  const licences = [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `License: ${name}\n${indented(text)}`);
  const head = stanza({
    Format: 'https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/',
    'Upstream-Name': 'siteward',
  });
  return `${[head, ...files, ...licences].join('\n\n')}\n`;
}

/** Debian has this text on every machine and wants it in no package. */
const commonApache = `Licensed under the Apache License, Version 2.0. Without warranties or conditions of any kind.

On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.`;

const indented = (text: string): string =>
  text
    .trim()
    .split(/\r?\n/)
    .map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`))
    .join('\n');
