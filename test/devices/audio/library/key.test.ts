import { expect, it } from 'vitest';
import { checked, importFields } from '../../../../src/devices/audio/library/message.ts';

it.each(['Front gate', '', '-gate', 'x'.repeat(65)])('a key that is none is refused in words: %j', (key) => {
  expect(() => checked(importFields, { name: 'Gate', key })).toThrow(
    'key: must be lower-case letters, digits, . _ -, such as front-gate; 1 to 64, the first a letter or digit',
  );
});
