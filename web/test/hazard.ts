import type { Hazard } from "../src/model";

/** A hazard for tests. */
export const hazard = (with_: Partial<Hazard> = {}): Hazard => ({
  hazard_ID: 1,
  uuid: `00000000-0000-7000-8000-${String(with_.hazard_ID ?? 1).padStart(12, "0")}`,
  hazard_Name: "Flood",
  description: "",
  type_ID: "FLOOD",
  severity_ID: "WARNING",
  category_ID: "EVENT",
  status: "A",
  autoexpire: "Y",
  start_Date: "1000",
  end_Date: "9000",
  create_Date: "1000",
  last_Update: "1000",
  update_Date: "1000",
  update_User: null,
  creator: "",
  latitude: 0,
  longitude: 0,
  product_total: "0",
  org_ID: -1,
  app_ID: 0,
  comment_Text: "",
  ...with_,
});
