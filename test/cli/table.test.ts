import { expect, it } from 'vitest';
import { counted, jsonLine, printable } from '../../src/cli/table.ts';

it.each([
  ['colours and the cursor', 'Ya\u001b[31mrd\u001b[2K', 'Yard'],
  ['lines', 'a\r\nb\u2028c\u0007', 'a b c'],
  ['the order of letters', 'door \u202egninepo\u2066', 'door gninepo'],
  ['nothing else', 'T\u00fcr \u05d3\u05dc\u05ea', 'T\u00fcr \u05d3\u05dc\u05ea'],
])('a name from a device cannot change %s on the terminal', (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

it('one is no plural', () => {
  expect([counted(1, 'zone'), counted(2, 'zone'), counted(0, 'message')]).toEqual(['1 zone', '2 zones', '0 messages']);
});

it('JSON on a terminal has such signs escaped, and is the same value', () => {
  const value = { name: 'door \u202egninepo\u009b31m\u2028\u061c', none: null };
  const line = jsonLine(value);
  expect(line).toMatch(/^[\x20-\x7e]+$/);
  expect(line).toContain('\\u202e');
  expect(JSON.parse(line)).toEqual(value);
});
