package dispatcher

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// diskTask has two jobs that hold the claim disk, which people make, and one of its own.
func diskTask() resource.Layout {
	return resource.Layout{Replicas: 1, Templates: []shares.ClaimTemplate{{Name: "gpu", Devices: map[string]int{"gpu": 1}}},
		Roles:   []resource.Role{{Name: "r", Count: 2, Sharing: []resource.Sharing{{Template: "gpu", Scope: resource.PerReplica}}}},
		Sharing: []resource.Sharing{{Claim: "disk", Scope: resource.All}}}
}

// Jobs wait for a claim until people make it, run at its node beside its devices, and wait again when it is deleted.
func TestClaimsThatPeopleMake(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	f.enqueueLayout("A", diskTask())
	f.enqueueLayout("A", diskTask())
	noneAt(t, d, slotAt("q", "n1", gpus(4)...))
	disk := OutsideClaim{Name: "disk", Queue: "q", Node: "n1", Devices: []string{"gpu:0"}}
	made, err := d.CreateClaim(t.Context(), disk)
	if err != nil || made.State != "bound" || made.Node != "n1" || made.BoundAt == nil || made.Waiting != 4 || made.Task != 0 || made.Template.Missing {
		t.Fatalf("%+v %v", made, err)
	}
	if again, err := d.CreateClaim(t.Context(), disk); err != nil || again.ID != made.ID {
		t.Errorf("again: %+v %v", again, err)
	}
	first := pullAt(t, d, slotAt("q", "n1", gpus(4)...))
	if first.Env["DIVVY_CLAIM_DISK_NODE"] != "n1" || first.Env["DIVVY_CLAIM_DISK_DEVICES"] != "gpu:0" || first.Env["DIVVY_CLAIM_GPU_DEVICES"] != "gpu:1" {
		t.Errorf("%v", first.Env)
	}
	noneAt(t, d, slotAt("q", "n2", gpus(4)...))
	second := pullAt(t, d, slotAt("q", "n1", gpus(4)...))
	if _, err := d.DeleteClaim(t.Context(), "disk", false); !errors.Is(err, ErrClaimHeld) || !strings.Contains(err.Error(), "2 jobs hold disk") {
		t.Errorf("%v", err)
	}
	gone, err := d.DeleteClaim(t.Context(), "disk", true)
	if err != nil || gone.State != "draining" || gone.Sharers != 2 {
		t.Errorf("%+v %v", gone, err)
	}
	noneAt(t, d, slotAt("q", "n1", gpus(4)...))
	if _, err := d.CreateClaim(t.Context(), disk); !errors.Is(err, ErrClaimExists) {
		t.Errorf("%v", err)
	}
	finish(t, d, Finished, first, second)
	eventually(t, "nobody holds it, and jobs wait for it", func() bool {
		c, err := d.Claim(t.Context(), made.ID)
		return err == nil && c.State == "pending" && c.Waiting == 2 && len(c.Devices) == 0
	})
	noneAt(t, d, slotAt("q", "n1", gpus(4)...))
	disk.Node, disk.Devices, disk.MaxSharers = "n2", nil, 1
	if again, err := d.CreateClaim(t.Context(), disk); err != nil || again.ID != made.ID {
		t.Errorf("%+v %v", again, err)
	}
	third := pullAt(t, d, slotAt("q", "n2", gpus(4)...))
	noneAt(t, d, slotAt("q", "n2", gpus(4)...)) // max_sharers
	finish(t, d, Finished, third)
	finish(t, d, Finished, pullAt(t, d, slotAt("q", "n2", gpus(4)...)))
	f.exec("UPDATE resource_claims SET idle_since = now() - interval '1 day' WHERE idle_since IS NOT NULL")
	eventually(t, "all claims of the tasks are released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE task_id <> 0 AND state <> 'released'")
		return n == 0
	})
	if c, err := d.Claim(t.Context(), made.ID); err != nil || c.State != "bound" || c.Sharers != 0 {
		t.Errorf("it stays until it is deleted: %+v %v", c, err)
	}
	if c, err := d.DeleteClaim(t.Context(), "disk", false); err != nil || c.State != "released" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := d.DeleteClaim(t.Context(), "disk", true); !errors.Is(err, ErrNoClaim) {
		t.Errorf("%v", err)
	}
	f.recountClaims()
	f.recount()
}

// A claim that jobs wait for and that is never made goes with the last of them.
func TestClaimNobodyMade(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	names := f.enqueueLayout("A", diskTask())
	for id := range names {
		if err := d.KillJob(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all claims are released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
}

func TestCreateClaimRefuses(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	good := OutsideClaim{Name: "disk", Queue: "q", Node: "n1", Devices: []string{"gpu:0", "gpu:1"}}
	if _, err := d.CreateClaim(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*OutsideClaim)
		err    error
		want   string
	}{
		"no name":        {func(c *OutsideClaim) { c.Name = "" }, job.ErrInvalid, "name: "},
		"a wrong name":   {func(c *OutsideClaim) { c.Name = "a/b" }, job.ErrInvalid, `name: a/b is not a name such as big-disk: "a/b" contains "/"`},
		"no queue":       {func(c *OutsideClaim) { c.Queue = "x" }, ErrUnknownQueue, "the site has q"},
		"no node":        {func(c *OutsideClaim) { c.Node = "" }, job.ErrInvalid, "node: "},
		"a wrong device": {func(c *OutsideClaim) { c.Devices[1] = "" }, job.ErrInvalid, "devices[1]: "},
		"a device twice": {func(c *OutsideClaim) { c.Devices[1] = "gpu:0" }, job.ErrInvalid, "devices[1]: gpu:0 is not a device that is named once"},
		"fewer than 0":   {func(c *OutsideClaim) { c.MaxSharers = -1 }, job.ErrInvalid, "max_sharers: -1"},
		"another node":   {func(c *OutsideClaim) { c.Node = "n2" }, ErrClaimExists, "disk is at node n1 of queue q"},
		"other devices":  {func(c *OutsideClaim) { c.Devices = nil }, ErrClaimExists, ""},
		"taken":          {func(c *OutsideClaim) { c.Name = "other"; c.Devices = []string{"gpu:1"} }, ErrDeviceTaken, "(disk) has gpu:1 of node n1"},
	} {
		r := good
		r.Devices = append([]string{}, good.Devices...)
		c.change(&r)
		if _, err := d.CreateClaim(t.Context(), r); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.err, c.want)
		}
	}
	var n int
	f.scan(&n, "SELECT count(*) FROM resource_claims")
	if n != 1 {
		t.Errorf("%d claims were made", n)
	}
}

// Claims whose template there is not wait until the site has it; what was made stays as it is when that goes again.
func TestMissingTemplateComes(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	l := resource.Layout{Replicas: 2, Roles: []resource.Role{{Name: "r", Count: 2}}, Sharing: []resource.Sharing{{Template: "late", Scope: resource.PerReplica}}}
	names := f.enqueueLayout("A", l)
	noneAt(t, d, slotAt("q", "n1", gpus(4)...))
	site := func(templates ...shares.ClaimTemplate) {
		f.apply(func(v *shares.Version) { v.ClaimTemplates = templates })
	}
	site(shares.ClaimTemplate{Name: "other", Node: true}, shares.ClaimTemplate{Name: "late", Devices: map[string]int{"gpu": 2}, Linger: time.Minute})
	first := pullAt(t, d, slotAt("q", "n1", gpus(2)...))
	if first.Env["DIVVY_CLAIM_LATE_DEVICES"] != "gpu:0,gpu:1" {
		t.Errorf("%v", first.Env)
	}
	site()
	second := pullAt(t, d, slotAt("q", "n1", gpus(2)...))
	if replica(names[second.Job]) != replica(names[first.Job]) {
		t.Errorf("%s, then %s", names[first.Job], names[second.Job])
	}
	pullAt(t, d, slotAt("q", "n2", gpus(2)...)) // the other claim has been made too
	f.recountClaims()
	f.recount()
}

// replica of the task, in the name of a job.
func replica(name string) string { return strings.Split(name, "/")[0] }
