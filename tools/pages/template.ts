import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The hand-written `NAME.template.md` beside this file, with `{{part}}` replaced by what was made for it. */
export function pageOf(name: string, parts: Readonly<Record<string, string>>): string {
  const template = readFileSync(join(import.meta.dirname, `${name}.template.md`), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, one: string) => {
    const part = parts[one];
    if (part === undefined) throw new TypeError(`the template names {{${one}}}, which nothing makes`);
    return part;
  });
}
