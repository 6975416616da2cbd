package sim
import ("testing";"strings")
var tail = new(int)
func init(){*tail=400}
func TestDbg(t *testing.T){ p:=parted(*seedFlag); if *keepFlag!="" { if err:=p.Keep(*keepFlag); err!=nil {t.Fatal(err)} }
var told strings.Builder
r:=Run(p,sound(),&told); t.Log(p.Groups, p.String()); lines:=strings.Split(told.String(),"\n"); t.Log(strings.Join(lines[max(0,len(lines)-*tail):],"\n"), r.Wrong)
}
