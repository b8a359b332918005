import { z } from 'zod';
import { configSchema } from './schema.ts';

/** The configuration file as JSON Schema, for editors: `config/siteward.schema.json`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // A default is known as the checked value, milliseconds or bytes; an editor needs it as it is written in the file.
      const def = zodSchema._zod.def;
      if (def.type === 'default' && jsonSchema.type === 'string' && typeof def.defaultValue === 'number') {
        jsonSchema.default = written(def.defaultValue, String(jsonSchema.pattern));
      }
    },
  });
}

const units = {
  time: [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
    ['ms', 1],
  ],
  size: [
    ['GB', 1e9],
    ['MB', 1e6],
    ['KB', 1e3],
    ['B', 1],
  ],
} as const;

/** Milliseconds or bytes in the largest unit that gives a whole number; which of both, the pattern tells. */
function written(quantity: number, pattern: string): string {
  const [name, factor] = units[pattern.includes('GiB') ? 'size' : 'time'].find(([, one]) => quantity % one === 0) ?? [
    '',
    1,
  ];
  return `${quantity / factor}${name}`;
}
