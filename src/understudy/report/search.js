(() => {
  const box = document.querySelector("#find");
  const cards = [...document.querySelectorAll("[data-name]")];
  const groups = [...document.querySelectorAll(".group")];
  const said = document.querySelector("#found");
  box.closest("form").hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    for (const card of cards) card.hidden = !card.dataset.name.includes(wanted);
    for (const group of groups) {
      group.hidden = [...group.querySelectorAll("[data-name]")].every(card => card.hidden);
      if (wanted) group.open = true;
    }
    said.textContent = wanted ? `${cards.filter(card => !card.hidden).length} of ${cards.length}` : "";
  });
})();
