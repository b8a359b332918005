import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import {
  descend,
  escapeXml,
  everyNamed,
  firstNamed,
  namespaceOf,
  ownNamespace,
  parseXml,
  textOf,
  xmlLimits,
} from '#lib/xml.ts';

const limits = (change: Partial<typeof xmlLimits>) => ({ ...xmlLimits, ...change });

describe('an XML document', () => {
  it('becomes a tree of local names, namespaces and text', () => {
    const root = parseXml('<a:b xmlns:a="urn:x" k="1"><c xmlns="urn:y">t&amp;<![CDATA[<u>]]> </c><d/></a:b>');
    expect([root.name, root.prefix, ownNamespace(root), { ...root.attributes }]).toEqual([
      'b',
      'a',
      'urn:x',
      { k: '1' },
    ]);
    const c = descend(root, 'c') ?? root;
    expect([c.prefix, ownNamespace(c), textOf(c)]).toEqual(['', 'urn:y', 't&<u>']);
    expect(ownNamespace(descend(root, 'd') ?? root)).toBe('');
    expect(root.children.map((child) => child.name)).toEqual(['c', 'd']);
    expect([...everyNamed(root, 'd')].length).toBe(1);
    expect(firstNamed(root, 'nowhere')).toBeUndefined();
  });

  it('keeps the prefixes in scope, so that a prefix inside text can be resolved', () => {
    const root = parseXml('<a xmlns:p="urn:outer"><b xmlns:p="urn:inner"><c/></b><d>p:x</d></a>');
    expect(namespaceOf(descend(root, 'b', 'c') ?? root, 'p')).toBe('urn:inner');
    expect(namespaceOf(descend(root, 'd') ?? root, 'p')).toBe('urn:outer');
    expect(namespaceOf(root, 'constructor')).toBeUndefined();
  });

  it('may hold as many blanks as it likes: reading them takes no longer than other text', () => {
    const blanks = ' '.repeat(1_000_000);
    expect(parseXml(`${blanks}<a>${blanks}x${blanks}</a>${blanks}`).text.length).toBe(2_000_001);
  });

  it.each([
    ['gb2312', Buffer.from([0xd6, 0xd0, 0xce, 0xc4]), '中文'],
    ['windows-1251', Buffer.from([0xc4, 0xe2, 0xee, 0xf0]), 'Двор'],
    ['iso-2022-jp', Buffer.from([0x1b, 0x24, 0x42, 0x46, 0x7c, 0x1b, 0x28, 0x42]), '日'],
    ['windows-1251', Buffer.from('Двор'), 'Двор'],
    ['klingon', Buffer.from([0x48, 0xf6, 0x66]), 'Höf'],
  ])('is read by the charset %s of its HTTP header, where that can be meant', (charset, bytes, text) => {
    const document = Buffer.concat([Buffer.from('<a>'), bytes, Buffer.from('</a>')]);
    expect(parseXml(document, xmlLimits, charset).text).toBe(text);
  });

  it('is read as UTF-16 without a mark where its HTTP header says so', () => {
    const document = Buffer.from('<a>Двор</a>', 'utf16le');
    expect(parseXml(document, xmlLimits, 'utf-16le').text).toBe('Двор');
    expect(parseXml(Buffer.from('<a>x</a>'), xmlLimits, 'utf-16').text).toBe('x');
  });

  it('keeps the default namespace of children that declare one', () => {
    const root = parseXml('<t xmlns="urn:o"><v xmlns="urn:axis"><w/></v><x/></t>');
    const own = (...names: string[]) => ownNamespace(descend(root, ...names) ?? root);
    expect([own('v', 'w'), own('x'), own()]).toEqual(['urn:axis', 'urn:o', 'urn:o']);
  });

  it.each([
    ['a byte order mark', '\uFEFF<a/>'],
    ['blank lines in front', '\r\n\n<?xml version="1.0"?><a/>'],
    ['NUL at the end', '<a/>\0\0'],
    ['an undeclared prefix', '<x:a y:b="1"/>'],
    ['undeclared prefixes in all its elements', `<a>${'<x:b/>'.repeat(50_000)}</a>`],
    ['a wrong encoding name', '<?xml version="1.0" encoding="utf-16"?><a/>'],
    ['an entity nobody declared', '<a>&nbsp;</a>'],
    ['an attribute twice', '<a b="1" b="2"/>'],
    ['no blank between attributes', '<a b="1"c="2"/>'],
  ])('may have %s', (_, text) => {
    expect(parseXml(Buffer.from(text)).name).toBe('a');
  });

  it.each([
    ['declared and valid', Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>caf\xe9</a>', 'latin1')],
    ['declared wrongly', Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>', 'utf8')],
    ['unknown', Buffer.from('<?xml version="1.0" encoding="x-unheard"?><a>caf\xe9</a>', 'latin1')],
    ['UTF-16', Buffer.from('\uFEFF<a>café</a>', 'utf16le')],
  ])('is decoded when its encoding is %s', (_, bytes) => {
    expect(textOf(parseXml(bytes))).toBe('café');
  });

  it.each([
    ['nothing', ''],
    ['text', 'Service Unavailable'],
    ['a cut document', '<a><b>'],
    ['a cut tag', '<a><b c="'],
    ['unbalanced tags', '<a></b></a>'],
    ['two roots', '<a/><b/>'],
    ['a name of three parts', '<a:b:c/>'],
    ['a name without an end', '<a b:="1"/>'],
    ['an entity nobody declared, a thousand times and one', `<a>${'&nbsp;'.repeat(1001)}</a>`],
    ['a document type', '<!DOCTYPE a [<!ENTITY e "eee">]><a>&e;</a>'],
  ])('is refused with a typed error: %s', (_, text) => {
    expect(() => parseXml(text)).toThrow(expect.objectContaining({ code: 'xml_invalid' }));
  });

  it.each([
    '<!DOCTYPE html><html></html>',
    '<html><body><br></body></html>',
    '<?xml version="1.0"?>\n<!doctype HTML><p>',
  ])('that is a web page is told as one: %s', (text) => {
    expect(() => parseXml(text)).toThrow(expect.objectContaining({ facts: expect.objectContaining({ html: true }) }));
  });

  it('is refused when it is too large, too deep or has too many elements', () => {
    const refused = (text: string, change: Partial<typeof xmlLimits>) =>
      expect(() => parseXml(text, limits(change))).toThrow(expect.objectContaining({ code: 'xml_invalid' }));
    refused(`<a>${'x'.repeat(100)}</a>`, { maxBytes: 50 });
    refused('<a><a><a/></a></a>', { maxDepth: 2 });
    refused(`<a>${'<b/>'.repeat(10)}</a>`, { maxNodes: 10 });
    expect(parseXml('<a><a/></a>', limits({ maxDepth: 2, maxNodes: 2 })).children.length).toBe(1);
  });

  const attributes = (count: number, prefix = '') =>
    Array.from({ length: count }, (_, n) => ` ${prefix}a${n}="1"`).join('');

  it.each([
    ['attributes of one element', `<a${attributes(1001)}/>`],
    ['declarations of one element', `<a${attributes(1001, 'xmlns:')}/>`],
    ['attributes and elements', `<a>${`<b${attributes(999)}/>`.repeat(60)}</a>`],
    ['elements', `<a>${'<b/>'.repeat(60_000)}</a>`],
  ])('is refused where it has more %s than any device sends, as each costs everybody else time', (_, text) => {
    expect(() => parseXml(text)).toThrow(expect.objectContaining({ code: 'xml_invalid' }));
  });

  it('may be what the largest recorder sends', () => {
    const profile = `<Profiles token="1">${`<x${attributes(1)}>1</x>`.repeat(105)}</Profiles>`;
    expect(parseXml(`<a>${profile.repeat(256)}</a>`).children).toHaveLength(256);
    expect(Object.keys(parseXml(`<a${attributes(1000)}/>`).attributes)).toHaveLength(1000);
  });

  it('never makes anything but a tree or a typed error of any text', () => {
    const bits = fc.constantFrom(
      '<',
      '>',
      '/',
      'a',
      ':',
      '"',
      '=',
      ' ',
      '&',
      ';',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '<?',
      '?>',
      'xmlns',
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 40 }), (parts) => {
        try {
          parseXml(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(SitewardError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('text for XML', () => {
  it('comes back as it was, apart from characters XML cannot carry', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters XML forbids, and line ends it folds.
        const kept = text.replace(/[\u0000-\u001F\uFFFE\uFFFF]/g, '');
        const root = parseXml(`<a b="${escapeXml(kept)}">${escapeXml(kept)}</a>`);
        expect([root.attributes.b, root.text]).toEqual([kept, kept]);
      }),
    );
    expect(escapeXml('a\u0000b')).toBe('ab');
  });
});
