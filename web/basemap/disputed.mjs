// Which borders are drawn dashed: those that Natural Earth's theme "Admin 0 – Breakaway, Disputed Areas" or the notes of the
// United Nations' world map (Geospatial, map 4170) tell to be undetermined or disputed. A map of hazards takes no side.

// A stretch of the border of two countries (names as in world-atlas), within west, south, east, north (degrees) where given.
export const dashed = [
  { pair: ["Ukraine", "Russia"], within: [32.5, 45.2, 36.8, 46.4] }, // Crimea
  { pair: ["Serbia", "Kosovo"] },
  { pair: ["Somalia", "Somaliland"] },
  { pair: ["Cyprus", "Cyprus U.N. Buffer Zone"] },
  { pair: ["N. Cyprus", "Cyprus U.N. Buffer Zone"] },
  { pair: ["Cyprus", "N. Cyprus"] },
  { pair: ["N. Cyprus", "Dhekelia"] },
  { pair: ["Cyprus U.N. Buffer Zone", "Dhekelia"] },
  { pair: ["Israel", "Palestine"] },
  { pair: ["Jordan", "Palestine"] },
  { pair: ["Egypt", "Palestine"] },
  { pair: ["Israel", "Syria"] }, // Golan
  { pair: ["India", "Pakistan"], within: [73.4, 32.4, 78, 37.2] }, // Jammu and Kashmir: line of control
  { pair: ["India", "Siachen Glacier"] },
  { pair: ["Pakistan", "Siachen Glacier"] },
  { pair: ["China", "Siachen Glacier"] },
  { pair: ["China", "Pakistan"], within: [74.3, 35, 78, 37.3] },
  { pair: ["China", "India"], within: [77.5, 30, 80.5, 36.5] }, // Aksai Chin
  { pair: ["China", "India"], within: [91.5, 26.5, 97.6, 29.7] }, // Arunachal Pradesh
  { pair: ["Sudan", "S. Sudan"] }, // final boundary not yet determined, Abyei
  { pair: ["Egypt", "Sudan"], within: [31.2, 21.6, 37.2, 23.3] }, // Hala'ib, Bir Tawil
  { pair: ["Kenya", "S. Sudan"], within: [33.9, 4.1, 36.1, 5.6] }, // Ilemi
  { pair: ["Ethiopia", "S. Sudan"], within: [34.6, 4.4, 36.1, 5.6] },
];

// Lines in the data that are no borders of countries: leases, bases, and the berm through Western Sahara, where the data draw
// who holds what and not the territory; `added` has its border instead.
export const undrawn = [
  ["Kazakhstan", "Baikonur"],
  ["Cuba", "USNB Guantanamo Bay"],
  ["Cyprus", "Akrotiri"],
  ["Cyprus", "Dhekelia"],
  ["Morocco", "W. Sahara"],
];

// Dashed lines that the data lack, in degrees: the north of Western Sahara, at 27°40' N from the coast to its corner with Algeria.
export const added = [[[-13.17, 27.667], [-8.667, 27.667]]];
