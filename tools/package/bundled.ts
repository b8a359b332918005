import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { locked } from './node-binary.ts';

const root = join(import.meta.dirname, '..', '..');

/** A package of the npm registry of which something is shipped. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Text of its licence file; empty where it brings none. */
  readonly licenceText: string;
  /** Lines of that text that name who holds the rights, else its author. */
  readonly copyright: readonly string[];
  /** Digest of what the registry has of it. */
  readonly integrity: string;
}

/** Packages of which something went into the bundle, and those that lie beside it. */
export function bundledPackages(inputs: readonly string[], beside: readonly string[]): readonly BundledPackage[] {
  const folders = inputs.flatMap((path) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return [...new Set([...folders, ...beside])].sort().map(read);
}

interface Manifest {
  readonly version: string;
  readonly license?: string | { readonly type: string };
  readonly author?: string | { readonly name: string };
  readonly contributors?: readonly (string | { readonly name: string })[];
}

function read(name: string): BundledPackage {
  const folder = join(root, 'node_modules', name);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const { version, integrity } = locked(name);
  if (version !== manifest.version)
    throw new Error(`${name} ${manifest.version} is installed, package-lock.json says ${version}`);
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.(md|txt|mit))?$/i.test(one));
  const licenceText = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
  const { license } = manifest;
  const licence = typeof license === 'string' ? license : license?.type;
  if (licence === undefined) throw new Error(`${name} names no licence`);
  return { name, version, licence, licenceText, copyright: holders(licenceText, manifest, name), integrity };
}

function holders(text: string, { author, contributors = [] }: Manifest, name: string): readonly string[] {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/^[\s*#]+|[*\s]+$/g, ''))
    .filter(
      (line) =>
        /^(portions )?copyright\b.*(\d{4}|\(c\)|©)/i.test(line) && !/\[yyyy\]|copyright (owner|notice)/i.test(line),
    )
    .map((line) => line.replace(/^copyright\s*(\(c\)|©)?\s*/i, ''));
  if (lines.length > 0) return [...new Set(lines)];
  const people = [author, ...contributors].flatMap((one) => (typeof one === 'string' ? [one] : (one?.name ?? [])));
  return people.length > 0 ? [people[0] ?? name] : [`the authors of ${name}`];
}
