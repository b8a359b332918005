import type { z } from 'zod';
import type { Path } from './problem.ts';

/** What a schema looks like from outside: through optional, default and transform down to its shape. */
interface Def {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
}

/** The schemas the value at `path` is checked against; more than one for a union, none where nothing may stand. */
export function schemasAt(schema: z.core.$ZodType, path: Path): z.core.$ZodType[] {
  let schemas = [schema];
  for (const part of path) schemas = schemas.flatMap(shapes).flatMap((one) => childOf(one, part));
  return schemas;
}

/** The keys that may stand in the map at `path`; empty where any key may, or none. */
export function keysAt(schema: z.core.$ZodType, path: Path): string[] {
  const keys = schemasAt(schema, path)
    .flatMap(shapes)
    .flatMap((one) => Object.keys(defOf(one).shape ?? {}));
  return [...new Set(keys)];
}

/** The object, array and record schemas a value may be checked against; more than one for a union. */
function shapes(schema: z.core.$ZodType): z.core.$ZodType[] {
  const def = defOf(schema);
  if (def.options !== undefined) return def.options.flatMap(shapes);
  const inner = def.innerType ?? def.in;
  return inner === undefined ? [schema] : shapes(inner);
}

function childOf(schema: z.core.$ZodType, part: string | number): z.core.$ZodType[] {
  const def = defOf(schema);
  const child = typeof part === 'number' ? def.element : (def.shape?.[part] ?? def.valueType);
  return child === undefined ? [] : [child];
}

const defOf = (schema: z.core.$ZodType): Def => schema._zod.def as Def;
