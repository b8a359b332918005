import { SaxesParser } from 'saxes';
import { SitewardError } from '#errors.ts';
import { decodeXml } from './xml-decode.ts';

/** One element. Everything stays text; nothing is coerced to a number, a boolean or a date. */
export interface XmlElement {
  /** Local name, without a prefix. */
  readonly name: string;
  readonly prefix: string;
  /** By local name; of two attributes with one local name the first counts. Namespace declarations are not among them. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** All character data directly inside, in order, not trimmed. */
  readonly text: string;
  readonly scope: XmlScope;
}

/** The namespace declarations an element sees: its own, then its parent's. */
export interface XmlScope {
  readonly declared: Readonly<Record<string, string>>;
  readonly parent?: XmlScope;
}

export interface XmlLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  /** Elements and attributes together. */
  readonly maxNodes: number;
}

/**
 * What is read of one document without holding up everything else for long: some 50 ms of one core, as
 * `npm run bench -- --only cameras` measures it, and 140 ms for 4 MiB of nothing but character references. A recorder of
 * 64 channels needs two thirds of the nodes for its profiles.
 */
export const xmlLimits: XmlLimits = { maxBytes: 4 * 1024 * 1024, maxDepth: 32, maxNodes: 60_000 };

/**
 * For an answer that is read once in a connection: a recorder of 128 channels with three profiles each, of 234 nodes as the
 * largest captured ones, needs nine tenths of it.
 */
export const largeXmlNodes = 100_000;

/** The most any real camera gives one element is 68; each costs more the more there are. */
const maxAttributes = 1000;

/**
 * Reads a document into a tree. Tolerates what cameras really send: a byte order mark, blank lines in front, NUL at the
 * end, prefixes that were never declared, a wrong encoding name. Refuses document type declarations, so no entity
 * but the five built-in ones is ever expanded. Throws `xml_invalid` for anything that is cut, unbalanced, too
 * large, too deep, or not XML; `facts.html` tells that a web page came instead.
 * @param charset Of the HTTP header that came with it.
 */
export function parseXml(
  input: Uint8Array | string,
  limits: XmlLimits = xmlLimits,
  charset?: string | undefined,
): XmlElement {
  const size = typeof input === 'string' ? Buffer.byteLength(input) : input.byteLength;
  if (size > limits.maxBytes) throw invalid(`more than ${limits.maxBytes} bytes`, { bytes: size });
  const text = bare(typeof input === 'string' ? input : decodeXml(input, charset));
  if (text === '') throw invalid('the document is empty', { bytes: size });
  const html = /^(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html)\b/i.test(text);
  if (html) throw invalid('a web page came instead of XML', { html });
  return build(text, limits);
}

/** Without what surrounds a document. By hand: an expression for its end is tried anew at each blank inside. */
function bare(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s\0]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).replace(/^[\uFEFF\s\0]+/, '');
}

interface OpenElement {
  readonly name: string;
  readonly prefix: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[];
  readonly scope: XmlScope;
  text: string;
}

/**
 * The parser's own namespaces stay off: to resolve every name takes it three times as long as all the rest, and siteward
 * asks for a prefix here and there (`namespaceOf`).
 */
function build(text: string, limits: XmlLimits): XmlElement {
  const parser = new SaxesParser({ position: false });
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let nodes = 0;
  let faults = 0;
  // Of the tag that is being read.
  let count = 0;
  let attributes: Record<string, string> = Object.create(null);
  let declared: Record<string, string> | undefined;
  const countNode = () => {
    nodes += 1;
    if (nodes > limits.maxNodes) throw invalid(`more than ${limits.maxNodes} elements and attributes`, {});
  };
  parser.on('error', (error) => {
    if (!tolerable.test(error.message)) throw invalid(error.message, {});
    // Each costs the parser a thousand times what an ordinary character does.
    faults += 1;
    if (faults > maxFaults) throw invalid('too many faults of form', {});
  });
  parser.on('doctype', () => {
    throw invalid('document type declarations are refused', {});
  });
  parser.on('attribute', ({ name, value }) => {
    countNode();
    count += 1;
    if (count > maxAttributes) throw invalid(`an element with more than ${maxAttributes} attributes`, {});
    const local = localName(name);
    if (name === 'xmlns' || name === `xmlns:${local}`) {
      declared ??= Object.create(null) as Record<string, string>;
      declared[name === 'xmlns' ? '' : local] = value.trim();
    } else attributes[local] ??= value;
  });
  parser.on('opentag', ({ name }) => {
    countNode();
    if (open.length >= limits.maxDepth) throw invalid(`deeper than ${limits.maxDepth} levels`, {});
    const parent = open.at(-1);
    const scope = scopeOf(declared, parent?.scope);
    const local = localName(name);
    const prefix = name.slice(0, Math.max(0, name.length - local.length - 1));
    const element: OpenElement = { name: local, prefix, attributes, children: [], scope, text: '' };
    parent?.children.push(element);
    root ??= element;
    open.push(element);
    count = 0;
    attributes = Object.create(null);
    declared = undefined;
  });
  parser.on('closetag', () => open.pop());
  const addText = (more: string) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += more;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.write(text).close();
  if (root === undefined) throw invalid('there is no element', {});
  return root;
}

const maxFaults = 1000;
/** Faults of form that leave the meaning of a document clear. All others end the reading. */
const tolerable =
  /an XML declaration must be|the XML declaration must|text data outside of root|disallowed character\.$|undefined entity|duplicate attribute|"\]\]>" is disallowed|no whitespace between attributes|encoding value must|standalone value must|must contain a version|version number must|unquoted attribute/;

/** Whether its prefix was declared does not matter: some firmware forgets it. */
function localName(name: string): string {
  const colon = name.indexOf(':');
  if (colon < 0) return name;
  const local = name.slice(colon + 1);
  if (colon === 0 || local === '' || local.includes(':')) throw invalid('a malformed name', {});
  return local;
}

function scopeOf(declared: XmlScope['declared'] | undefined, parent: XmlScope | undefined): XmlScope {
  if (declared === undefined) return parent ?? { declared: {} };
  return { declared, ...(parent && { parent }) };
}

function invalid(reason: string, facts: { bytes?: number; html?: boolean }): SitewardError {
  return new SitewardError('xml_invalid', `The text is not usable XML: ${reason}`, { facts: { reason, ...facts } });
}

/** The namespace URI of an element; empty when there is none or the prefix was never declared. */
export const ownNamespace = (element: XmlElement): string => namespaceOf(element, element.prefix) ?? '';

/** The namespace URI a prefix stands for at this element; undefined when nobody declared it. */
export function namespaceOf(element: XmlElement, prefix: string): string | undefined {
  for (let scope: XmlScope | undefined = element.scope; scope !== undefined; scope = scope.parent) {
    if (Object.hasOwn(scope.declared, prefix)) return scope.declared[prefix];
  }
  return undefined;
}

/** The first element on a way of local names below `element`. */
export function descend(element: XmlElement | undefined, ...names: readonly string[]): XmlElement | undefined {
  let current = element;
  for (const name of names) current = current?.children.find((child) => child.name === name);
  return current;
}

export function childrenNamed(element: XmlElement | undefined, name: string): readonly XmlElement[] {
  return element?.children.filter((child) => child.name === name) ?? [];
}

/** Every element of that local name in document order, at any depth, the start included. */
export function* everyNamed(element: XmlElement, name: string): Generator<XmlElement> {
  if (element.name === name) yield element;
  for (const child of element.children) yield* everyNamed(child, name);
}

export function firstNamed(element: XmlElement, name: string): XmlElement | undefined {
  for (const found of everyNamed(element, name)) return found;
  return undefined;
}

/** Trimmed text of an element; empty when there is no element. */
export const textOf = (element: XmlElement | undefined): string => element?.text.trim() ?? '';

/** Text made safe for element content and attribute values; characters XML cannot carry are left out. */
export function escapeXml(text: string): string {
  return text.replace(forbidden, '').replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters XML 1.0 forbids.
const forbidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;
