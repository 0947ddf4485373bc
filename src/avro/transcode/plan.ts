import type { Convert, FieldShape, Shape, ValueType } from '../event-shape.ts';
import { Place, SpanFinder } from './span-finder.ts';

/** How a shape is written from where its value stands. */
export type Plan = { readonly slot: number; readonly path: string } & (
  | { readonly kind: 'value'; readonly type: ValueType; readonly convert: Convert }
  | { readonly kind: 'record'; readonly fields: readonly Plan[] }
  | { readonly kind: 'array'; readonly items: ItemPlan }
);
/** Each element is walked over by itself. */
export type ItemPlan = { readonly finder: SpanFinder; readonly plan: Plan };

/** The plans of a message's fields, and the finder of their values. */
export function planMessage(fields: readonly FieldShape[]): { finder: SpanFinder; plans: Plan[] } {
  return compile((places) => planFields(fields, places));
}

/** Hands out places with slots, and makes the finder of them. */
type Places = { readonly root: Place; slotAt(place: Place): number };

function compile<T>(plan: (places: Places) => T): { finder: SpanFinder; plans: T } {
  const root = new Place();
  let slots = 0;
  const slotAt = (place: Place) => {
    place.slots.push(slots);
    return slots++;
  };
  const plans = plan({ root, slotAt });
  return { finder: new SpanFinder(root, slots), plans };
}

function planFields(fields: readonly FieldShape[], places: Places, from = places.root): Plan[] {
  return fields.map(({ pointer, path, shape }) => planShape(shape, path, places, from.at(pointer)));
}

function planShape(shape: Shape, path: string, places: Places, place: Place): Plan {
  const base = { slot: places.slotAt(place), path };
  if (shape.kind === 'value') return { ...base, ...shape };
  if (shape.kind === 'record') {
    return { ...base, kind: 'record', fields: planFields(shape.fields, places, place) };
  }
  const { finder, plans } = compile((own) => planShape(shape.items, shape.path, own, own.root));
  return { ...base, kind: 'array', items: { finder, plan: plans } };
}
