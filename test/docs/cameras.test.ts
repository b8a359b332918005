import { expect, test } from 'vitest';
import { usualPorts } from '../../src/devices/onvif/discovery/ports.ts';
import { read } from './markdown.ts';

test('docs/cameras.md lists the ports that are tried', () => {
  const rows = [...read('docs/cameras.md').matchAll(/^\| (\d+)(?: \(https\))? \| (.+) \|$/gm)];
  expect(rows.map(([, port, who]) => [Number(port), who])).toEqual(usualPorts.map(({ port, who }) => [port, who]));
});
