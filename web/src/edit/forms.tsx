// The editors' forms and confirmations, loaded on demand.
import { usePage } from "../ui/context";
import { HazardForm } from "./hazard";
import { Held } from "./held";
import { Joins } from "./joins";
import { ProductForm } from "./product";

export { Questions } from "./questions";
export { Review, WaitingBar } from "./waiting";
export { WhyLink } from "./why";

/** In the list of sources: the work that waits for an editor. */
export const Waiting = () => (
  <>
    <Held />
    <Joins />
  </>
);

/** The open form, instead of the panel. */
export function Form() {
  const { editing } = usePage();
  const task = editing.task.value;
  if (!task) return null;
  return task.kind === "product" ? <ProductForm key={task.uuid} task={task} /> : <HazardForm key={task.kind === "new" ? task.uuid : task.h.uuid} task={task} />;
}
