import type { z } from 'zod';

/** Members that say which record it is, in the order they are looked for. */
export const keyNames = [
  'dealer_id',
  'site_id',
  'monitoring_station_id',
  'contact_id',
  'nvr_id',
  'device_id',
  'audio_message_id',
] as const;

/** Records whose answer the specification does not show: their own id is perhaps called just `id`. */
export const shortKeyNames: readonly string[] = ['monitoring_station_id', 'contact_id', 'nvr_id'];

/** A record with one of these tells what was done to another one: that it was done is certain without any id. */
export const receiptNames = ['verification_id', 'playback_id'] as const;

/** The one member of a record that must be there (S-190); never for a record whose every member is optional. */
type KeyOf<T> = T extends { verification_id: unknown } | { playback_id: unknown }
  ? never
  : T extends { dealer_id: unknown }
    ? 'dealer_id'
    : T extends { site_id: unknown }
      ? 'site_id'
      : T extends { monitoring_station_id: unknown }
        ? 'monitoring_station_id'
        : T extends { contact_id: unknown }
          ? 'contact_id'
          : T extends { nvr_id: unknown }
            ? 'nvr_id'
            : T extends { device_id: unknown }
              ? 'device_id'
              : T extends { audio_message_id: unknown }
                ? 'audio_message_id'
                : never;

/**
 * What a described answer is to a tolerant reader: ids are text (S-192), words may be ones nobody listed (S-191), every
 * member but the record's own id may be missing, and null is missing too (S-190).
 */
export type Tolerant<T> = T extends readonly (infer E)[]
  ? readonly Tolerant<E>[]
  : T extends string
    ? string extends T
      ? string
      : T | (string & {})
    : T extends number
      ? number
      : T extends object
        ? { readonly [K in keyof T as K extends KeyOf<T> ? K : never]-?: string } & {
            readonly [K in keyof T as K extends KeyOf<T> ? never : K]?: K extends `${string}_id`
              ? string
              : Tolerant<NonNullable<T[K]>>;
          }
        : T;

type Success = 200 | 201 | 202;
type SchemasOf<R> = {
  [S in keyof R & Success]: R[S] extends { schema: infer Z extends z.ZodType } ? Z : never;
}[keyof R & Success];

/** What a call of the operation gives; undefined for one that has no body to give. */
export type ReadOf<O> = O extends { responses: infer R }
  ? [SchemasOf<R>] extends [never]
    ? undefined
    : Tolerant<z.output<SchemasOf<R>>>
  : never;
