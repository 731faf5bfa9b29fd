// Places in the timeline that other parts of the page lead to.

const places = [];
// Shows one of them: set where there is a timeline.
let goTo = null;

// A way to a rank and a time, with what is around it. Times in nanoseconds.
function placeLink(rank, from, length, text) {
  const around = Math.max(length * 5, 5000);
  places.push({ rank, from: from - around, to: from + length + around, marked: [from, from + length] });
  return `<button class="link" data-moment="${places.length - 1}">${text}</button>`;
}

document.addEventListener("click", (event) => {
  const place = event.target.dataset && places[event.target.dataset.moment];
  if (place && goTo) goTo(place);
});
